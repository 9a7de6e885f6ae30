#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every chapter, with --quick, without CUDA, on 1, 2 and 4 simulated devices, and on a real GPU where there is one: it
# exits with 0 and prints its essential lines. Then what all of them share: --help, bad arguments, no colors in a pipe.
# run: FERRY_CUDA=off
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=1
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=4
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=4 FERRY_SIM_MODE=lazy
# run: FERRY_CUDA=real
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
subject='chapters'
. tests/chapters/common.sh

with() { # DEVICES EXPRESSION: only where there are at least so many
  if [ "$devices" -ge "$1" ]; then
    has "$2"
  fi
}

simulated() { # EXPRESSION: only on simulated devices
  if [ "$runtime" = sim ]; then
    has "$1"
  fi
}

real() { # EXPRESSION: only on a real GPU
  if [ "$runtime" = real ]; then
    has "$1"
  fi
}

without() { # EXPRESSION: only where there is no CUDA
  if [ "$devices" = 0 ]; then
    has "$1"
  fi
}

first_line() {
  simulated '^device: cuda:0, .*simulated: its times say nothing about a GPU$'
  real '^device: cuda:0, .*, a real GPU$'
  without '^device: cpu, .*, not simulated; '
  if head -n 1 "$work/out" | grep -q '^device: '; then
    echo "ok $chapter names its device first"
  else
    echo "not ok $chapter names its device first - $(head -n 1 "$work/out")"
  fi
}

# A time without the label is the CPU's: after a label-free time no line may speak of the simulated device.
times_are_labeled() {
  if [ "$runtime" != sim ]; then
    hasnt '\(simulated\)'
  else
    hasnt '(cuda|device).*: *[0-9.]+ (us|ms|s)$'
  fi
}

mismatch='RuntimeError: Expected all tensors to be on the same device'

# ---- the chapters ----------------------------------------------------------------------------------------------------

why_a_gpu() {
  run 01_why_a_gpu --quick
  ends_well
  first_line
  has '^cores +[0-9]+ large ones'
  has '^memory bandwidth, a copy measured +[0-9.]+ GB/s'
  has '^float32 product, n = 256 +[0-9.]+ [GT]FLOP/s'
  without '^The GPU column is empty because there is no NVIDIA GPU here'
  simulated '^The GPU column is empty because a simulated device is this CPU in disguise'
  real '^Here the GPU moves [0-9]+ times as many bytes per second'
  if [ "$runtime" != real ]; then
    hasnt '^float32.*FLOP/s.*FLOP/s' # no second column of measurements where there is no GPU
  fi
  has 'give the same: True'
}

device_check() {
  run 02_device_check --quick
  ends_well
  first_line
  has "^Number of GPUs: $devices\$"
  has '^Ferry: +[0-9]+\.[0-9]+\.[0-9]+$'
  without '^CUDA available: False'
  without '^CUDA runtime: none'
  without '^Selected device: cpu, the CPU'
  without '^No CUDA device found'
  with 1 '^CUDA available: True'
  simulated '^GPU 0: .*[Ss]imulated'
  with 1 'free\.$'
  with 2 '^Selected device: cuda:1, '
  with 2 '^Inside the guard "cuda" is cuda:1'
  with 2 '^After it "cuda" is cuda:0 again'
  with 4 '^GPU 3: '
  has '^With mps considered: (cuda|cpu) \(mps available: False\)'
  has "^torch.zeros\\(1, device=\"cuda:$devices\"\\)\$"
  has '^  NotImplementedError: .*[Mm][Pp][Ss]'
  with 1 '^  RuntimeError: .*invalid device ordinal'
  has '^  RuntimeError: .*gpu'
}

tensor_moves() {
  run 03_tensor_moves --quick
  ends_well
  first_line
  has '^tensor\(\[\[ *-?[0-9]'
  has 'gives x itself: True'
  has 'shares no memory with x: +True'
  with 1 "device='cuda:0'\\)\$"
  with 1 '^Is it on a GPU\? True'
  with 1 'the values survived the trip: True'
  with 1 "^tensor\\(\\[1, 2, 3\\], device='cuda:0'\\)"
  with 1 '^x.device: +cuda:0'
  with 1 '^x.get_device\(\): 0'
  with 1 "^  TypeError: can't convert cuda:0 device type tensor to numpy"
  with 1 "$mismatch, but found at least two devices, cuda:0 and cpu!"
  with 1 '^a \+ b.to\(device\) is on cuda:0'
  without '^  RuntimeError: .*CUDA'
  without '^x.get_device\(\): -1'
  has "RuntimeError: Can't call numpy\\(\\) on Tensor that requires grad"
  has '^plain.cpu\(\).numpy\(\): +\[1.5 2.5 3.5\]'
  has '^with_grad.detach\(\).cpu\(\).numpy\(\): \[4 5 6\]'
  has 'saved as .npy, loaded, equal: True'
  has 'tensor\(\[0., 7., 0.\]\)'
  has 'all equal: True'
}

benchmarks() {
  run 04_benchmarks --quick
  ends_well
  first_line
  times_are_labeled
  has '^  cpu: +[0-9.]+ (us|ms|s)$'
  has '^Maximum difference between the results: [0-9.e-]+$'
  has '^clock stopped after synchronizing: +[0-9.]+ (us|ms|s)'
  has '^n +cpu +device'
  has '^128 +[0-9.]+ (us|ms|s) '
  has '^batch +cpu +device'
  simulated 'clock stopped when the call returned: +[0-9.]+ (us|ms|s) \(simulated\)'
  simulated '^between the two events: [0-9.]+ (us|ms|s) \(simulated\)'
  without '^Events belong to CUDA'
  real '^  the GPU was [0-9.]+ times as fast'
  if [ "$runtime" != real ]; then
    hasnt 'times as fast' # only a real GPU is compared
  fi
}

model_moves() {
  run 05_model_moves --quick
  ends_well
  first_line
  times_are_labeled
  has '^SimpleNet\($'
  has '^  \(fc1\): Linear\(in_features=10, out_features=50, bias=True\)$'
  has '^Model at first: cpu'
  with 1 '^Model after: +cuda:0'
  with 1 '^net.4.bias: cuda:0'
  with 1 '^  buffer +1.running_mean .*cuda:0$'
  with 1 '^Output is on device: cuda:0'
  without 'RuntimeError: .*CUDA'
  without '^net.4.bias: cpu'
  has '^BatchNorm has counted 1 batch'
  has '^torch.Size\(\[32, 10\]\)$'
  has '^220 bytes, then 110; output torch.float16'
  if [ "$devices" -gt 0 ]; then
    count=$(grep -c "$mismatch" "$work/out")
    if [ "$count" = 3 ]; then
      echo "ok $chapter raises three mismatches"
    else
      echo "not ok $chapter raises three mismatches - $count"
    fi
  fi
  has '^Epoch \[1/5\], Loss: 2\.[0-9]+$'
  has '^Epoch \[5/5\], Loss: [0-9.]+$'
  if grep -q 'this part is left out' "$work/out"; then
    has 'OSError: .*dataset-fashion-mnist'
  else
    has 'torch.Size\(\[60000, 28, 28\]\) pictures to learn from'
    has '^  batch 20/20, loss [01]\.[0-9]+$'
    has '^  test accuracy on 1000 held-out pictures: [3-9][0-9]\.[0-9]+ %$'
    with 1 '^  the mean losses differ by ([0-9.]+e-0[4-9]|0\.0e\+00):'
  fi
}

several_epochs() {
  run 05_model_moves --quick --epochs 3
  ends_well
  if ! grep -q 'this part is left out' "$work/out"; then
    has '^[0-9]+\. 3 epochs of Fashion-MNIST$'
    has '^  epoch 3/3$'
    has '^  trained for [0-9.]+ (ms|s)( \(simulated\))? in all$'
  fi
  refuses 05_model_moves '--epochs 0' --epochs 0
}

several_gpus() {
  run 06_several_gpus --quick
  ends_well
  first_line
  times_are_labeled
  has "^Number of GPUs: $devices\$"
  without '^No CUDA device found'
  with 4 '^GPU 3: '
  with 2 '^the model is on cuda:1'
  with 2 '^after x.to\("cuda:1"\) the output is on cuda:1'
  with 2 "$mismatch"
  with 2 '^piece 1: input torch.Size\(\[[0-9]+, 10\]\) on cuda:1, weights on cuda:1'
  with 4 '^piece 3: input torch.Size\(\[2, 10\]\) on cuda:3, weights on cuda:3'
  with 2 '^gathered: torch.Size\(\[8, 5\]\) on cuda:0, equal to the model.s own output: True'
  with 2 "^Using $devices GPUs!"
  has '^Epoch \[3/3\], Loss: 2\.[0-9]+$'
  losses=$(grep -c '^Epoch \[' "$work/out")
  distinct=$(grep '^Epoch \[' "$work/out" | sort -u | wc -l)
  if [ "$losses" = 6 ] && [ "$distinct" = 3 ]; then
    echo "ok $chapter has the same losses on one device"
  else
    echo "not ok $chapter has the same losses on one device - $losses losses, $distinct distinct"
  fi
  has 'largest difference after training: weights ([0-9.]+e-0[4-9]|0.0e\+00), gradients ([0-9.]+e-0[6-9]|0.0e\+00)$'
  with 1 '^weight.grad is on cuda:0'
  has '^bias.grad: tensor\(\[8., 8., 8., 8., 8.\]'
  with 2 '^Model wrapped with DataParallel'
  has '^Output shape: +torch.Size\(\[32, 10\]\)'
  has "^equal to one device's output: True"
  case $devices in
  4)
    has '^batch of 7: rows per device 2, 2, 2, 1; output torch.Size\(\[7, 5\]\)'
    has '^batch of 3: rows per device 1, 1, 1, 0;'
    has '^batch of 1: rows per device 1, 0, 0, 0;'
    ;;
  2)
    has '^batch of 7: rows per device 4, 3; output torch.Size\(\[7, 5\]\)'
    has '^batch of 1: rows per device 1, 0;'
    ;;
  0 | 1) has '^batch of 7: rows per device 7; output torch.Size\(\[7, 5\]\)' ;;
  esac
  with 2 'RuntimeError: module must have its parameters and buffers on device cuda:0 \(device_ids\[0\]\) but found one of them on device: cpu'
  with 2 '^RuntimeError: Caught RuntimeError in replica 0 on device 0'
  with 2 'mat1 and mat2 shapes cannot be multiplied \([0-9]+x12 and 10x5\)'
}

pitfalls() {
  run 07_pitfalls --quick
  ends_well
  first_line
  has '^view\(6, 2\): torch.Size\(\[6, 2\]\), the same memory: True'
  has "RuntimeError: view size is not compatible with input tensor's size and stride"
  has '^transposed.reshape\(6, 2\): torch.Size\(\[6, 2\]\), the same memory: False'
  has 'RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: .*is at version 1; expected version 0 instead'
  has 'RuntimeError: a leaf Variable that requires grad is being used in an in-place operation'
  has 'grad_fn=<AddBackward0>'
  with 1 "$mismatch, but found at least two devices, cuda:0 and cpu!"
  with 1 '^model\(input\), input on cuda:0'
  has '^the same results: True'
  has 'Error: .*(out of memory|allocate)'
  has '^The program goes on; the sum of four ones is 4\.'
  has 'largest difference from all at once ([0-9.]+e-0[6-9]|0.0e\+00)'
  if [ "$devices" -gt 0 ]; then
    copies=$(grep -A 1 '^128 rows, one by one' "$work/out" | sed -nE 's/.*copies to the device ([0-9]+),.*/\1/p')
    at_once=$(grep -A 1 '^all of it at once' "$work/out" | sed -nE 's/.*copies to the device ([0-9]+),.*/\1/p')
    if [ "$copies" = 128 ] && [ "$at_once" = 1 ]; then
      echo "ok $chapter counts 128 copies against 1"
    else
      echo "not ok $chapter counts 128 copies against 1 - $copies against $at_once"
    fi
    has '^20 journeys'
    has 'copies to the device 20, back 20;'
    has 'copies to the device 0, back 1; ' # the sums that stay
    has 'after torch.cuda.synchronize\(\): [0-9.]+$'
  fi
  if [ "$devices" -gt 0 ] && [ "${FERRY_SIM_MODE:-}" = lazy ]; then
    has '^the last element at once: 0; after torch.cuda.synchronize\(\): 0.5$'
  fi
  without 'took cpu'
}

memory() {
  local kept="$work/kept.pickle"
  run 11_memory --quick --snapshot "$kept"
  ends_well
  first_line
  has '^Allocated: 0\.000 GB   Cached: 0\.000 GB$'
  has '^Allocated: 0\.001 GB   Cached: 0\.00[1-3] GB$' # 500 x 500 numbers
  has '^cache given back: Allocated: 0\.000 GB   Cached: 0\.000 GB$'
  has '^at most in use meanwhile: .*, which is 3\.[0-9]+ matrices of 1\.0 MB$'
  has '^b = a \+ a +2\.1 MB$'
  has '^b dropped, but a row of it is still in sight +1\.0 MB$'
  has '^the scope closed, one tensor kept +1\.0 MB$'
  has '^and dropped +0 bytes$'
  has '^loss = \.\.\. without a graph +[0-9.]+ kB$'
  leaked=$(sed -nE 's/^total = total \+ loss +([0-9.]+) MB.* ([0-9.]+) MB   sum.*/\1 \2/p' "$work/out")
  if awk -v values="$leaked" 'BEGIN { split(values, v, " "); exit !(v[1] > 1 && v[2] > 4.5 * v[1] && v[2] < 5.5 * v[1]) }'; then
    echo "ok $chapter leaks a graph a batch"
  else
    echo "not ok $chapter leaks a graph a batch - $leaked"
  fi
  sums=$(sed -nE 's/.*   sum ([0-9.]+)$/\1/p' "$work/out" | sort -u | wc -l)
  [ "$sums" = 1 ] && echo "ok $chapter: four sums, one number" || echo "not ok $chapter: four sums, one number - $sums"
  has '^added in no_grad +[0-9]+ bytes( +[0-9]+ bytes)+   sum'
  has '^at most while the loss was computed: [0-9.]+ MB with a graph, [0-9.]+ MB without$'
  with 1 '^small pool +\|#\|\.\|#\|\.+\|$'
  with 1 '^large pool +\|\.{5}\|#{5}\|\.{5}\|#{5}\|$'
  with 1 '^  OutOfMemoryError: CUDA out of memory\. Tried to allocate 16\.00 MiB\. .* 64\.00 MiB allowed; .* 30\.00 MiB is cached but unallocated\.$'
  without '^The CPU.s allocator keeps blocks, too, but cuts none'
  has '^the whole batch +512 +[0-9.]+ MB +100 %$'
  has '^in sixteen parts +512 +[0-9.]+ MB +[4-6][0-9] %$'
  has '^backward +\+ '
  has '^11_memory\.c:[0-9]+ +[0-9]+ +[0-9.]+ MB$'
  if [ -s "$kept" ]; then echo "ok $chapter leaves a snapshot"; else echo "not ok $chapter leaves a snapshot"; fi
}

# ---- what all chapters share -----------------------------------------------------------------------------------------

refuses() { # CHAPTER WHAT ARGUMENT...
  local what=$2 name=$1
  shift 2
  run "$name" "$@"
  if [ "$status" = 2 ] && grep -q -- "$what" "$work/err" && [ ! -s "$work/out" ]; then
    echo "ok $name refuses $*"
  else
    echo "not ok $name refuses $* - status $status: $(head -n 1 "$work/err")"
  fi
}

checkpointing() {
  run 13_checkpointing --quick
  ends_well
  first_line
  # The whole model in one: nothing held, the same peak, everything twice.
  has '^no checkpoint +16\.8 MB +[0-9.]+ MB +100 % +32 '
  has '^the whole model +26[0-9]\.[0-9] kB +[0-9.]+ MB +(9[5-9]|10[0-3]) % +64 '
  has '^8 +[0-9.]+ MB +[0-9.]+ MB +(2[0-9]|3[0-9]|4[0-5]) % +60 '
  has '^32 +[0-9.]+ MB .* 63 '
  has '^all gradients equal to the bit: True$'
  has '^called as it is: +80[0-9]\.[0-9] kB in use after the forward$'
  has '^fy_checkpoint: +1[0-9]\.[0-9] kB in use after the forward$'
  has '^RuntimeError: fy_checkpoint: A different number of tensors was saved during the original forward and recomputation\.$'
  once=$(sed -nE 's/^running mean after one batch: +//p' "$work/out")
  twice=$(sed -nE 's/^with the batch norm checkpointed: +//p' "$work/out")
  if awk -v a="$once" -v b="$twice" 'BEGIN { exit !(a > 0 && b > 1.89 * a && b < 1.91 * a) }'; then
    echo "ok $chapter moves the running mean twice"
  else
    echo "not ok $chapter moves the running mean twice - $once, $twice"
  fi
  with 1 '^no checkpoint: out of memory$'
  with 1 '^in 6 segments: a step done$'
}

profiling() {
  local trace="$work/trace.json" sums
  run 14_profiling --quick --trace "$trace"
  ends_well
  first_line
  has '^step 4: '
  has '^ +Name +Self CPU % +Self CPU +CPU total % +CPU total +CPU time avg'
  has '^fy::conv2d_relu_max_pool2d '
  has '^ +model_inference .* 2$'
  # The times of their own of all rows are the outermost range's time. A sum of doubles that ends next to ...5 may be printed
  # one tenth further up or down.
  sums=$(sed -nE 's/^(step +1 +[0-9.]+ us|self times .*:) +([0-9.]+) us$/\2/p' "$work/out" | tr '\n' ' ')
  if echo "$sums" | awk '{ apart = $1 - $2; exit !(NF == 2 && apart < 0.15 && apart > -0.15) }'; then
    echo "ok $chapter: self times add up"
  else
    echo "not ok $chapter: self times add up - $sums"
  fi
  has '^as it was +.* 256 +4 +4$'
  has '^batches as a whole +.* 8 +4 +4$'
  has '^and no copy of all +.* 8 +0 +4$'
  has '^and one item at the end +.* 8 +0 +1$'
  with 1 '^ +cudaMemcpyAsync '
  if [ "$runtime" = sim ]; then
    has '^CUDA times are those of a simulated device, not of a GPU\.$'
    hasnt '^Self CUDA time total: [^(]*$'
  fi
  if command -v python3 >/dev/null && [ "$runtime" != real ]; then
    if python3 tests/core/profiler/check_trace.py "$trace" "$([ "$runtime" = sim ] && echo simulated || echo none)" >"$work/checked"; then
      echo "ok $chapter exports a trace: $(cat "$work/checked")"
    else
      echo "not ok $chapter exports a trace - $(head -n 1 "$work/checked")"
    fi
  fi
}

tracing() {
  run 15_tracing --quick
  ends_well
  first_line
  has '^  %[0-9]+ : Float\(1, 32, 28, 28\) = fy::conv2d\(%input, %0\.weight, %0\.bias\)$'
  has '^the same for 16 other images: True$'
  has '^for the example: True$'
  has '^for another:     False$'
  has '^RuntimeError: Tracing failed sanity checks!$'
  has '^for another: True$'
  has '^a batch of 64: True$'
  has '^RuntimeError: shape .\[1, 3136\]. is invalid for input of size 4096$'
  has '^RuntimeError: fy_trace: forward changes .1\.num_batches_tracked. of the model in place'
  has '^after fy_eval: True$'
  has '^the trace allocates 1 times$'
  has '^after three steps of training: True$'
  has '^both use the same storage for 0\.weight: True$'
  has '^the model: 9 tensors, 63216 bytes of numbers; the file: [0-9]+ bytes$'
  has '^the same for 16 images: True$'
  has '^NotImplementedError: fy_onnx_save: dropout draws random numbers'
  has '^CIFAR CNN, one image +'
  has 'conv2d \+ relu \+ max_pool2d[,(]'
}

distributed() {
  run 16_distributed --quick
  ends_well
  first_line
  if ! command -v mpirun >/dev/null || ! [ -e build/libferry-mpi.so ]; then
    has '^There is no Open MPI here, so there is one rank only'
    return
  fi
  has '^\[1\] I am rank 1 of 2, on (cpu|cuda:[01]), and have 2$'
  has '^\[1\] the sum over all ranks: 3$'
  has '^\[0\] epoch 3: mean loss of all ranks 0\.[0-9]+$'
  has '^\[1\] 320 samples were mine; weight\[0\]\[0\] is '
  [ "$(sed -nE 's/.*samples were mine; (.*)/\1/p' "$work/out" | sort -u | wc -l)" = 1 ] &&
    echo "ok $chapter: the weights are the same in both ranks" || echo "not ok $chapter: the weights are the same in both ranks - they differ"
  has '^\[0\] equal to 1e-4: True$'
  has '^\[0\] four backward calls, three of them in no_sync: 2 collectives$'
  with 2 '^a step.s copies between the two GPUs: [0-9]+, of 4\.[0-9] MB together$'
  has '^\[0\] fy_random_sampler: an epoch has 1280 samples, 640 of them in every rank$'
  has '^\[0\] fy_distributed_sampler: an epoch has 640 samples, 0 of them in every rank$'
  has '^\[0\] RuntimeError: \[rank 0\] all_reduce\(avg, torch.float32, 1 elements\), sequence 1: rank 1 did not call it within 1 s$'
  has '^\[1\] 4 tensors read, the first is 0\.weight$'
  has '^\[0\] efficiency: [0-9.]+$'
  has '^\[0\] counted in a step: 1 all-reduce of 940\.6 kB, of which 940\.6 kB in memory that the ranks share$'
}

# Counts, which are the same in every mode of the simulator. The CPU has no graphs.
cuda_graphs() {
  run 17_cuda_graphs --quick
  ends_well
  first_line
  if [ "$runtime" = off ]; then
    has '^CUDA graphs need a CUDA device, real or simulated'
    hasnt 'graph launches'
    return
  fi
  simulated '^a training step: 30 ops, 34 launches$'
  has '^recorded: 2 kernels, none of which has run$'
  has '^5 copied into x, replayed: +60 60 60$'
  has '^x a new tensor of 7, replayed: +60 60 60$'
  has '^after reset and fy_empty_cache: +0 bytes in the pool'
  has '^bit-identical losses: 40 of 40$'
  simulated '^eager +34 +0 +0 +2$'
  simulated '^replayed +0 +1 +34 +3$'
  has '^ten steps, three of them before the capture: w = -4\.1381$'
  has '^ten steps, none before the capture: +w = -1\.0000$'
  has '^RuntimeError: CUDA error: operation not permitted when stream is capturing$'
  has '^RuntimeError: Cannot copy between CPU and CUDA tensors during CUDA graph capture'
  has '^RuntimeError: CUDA error: capturing stream has unjoined work$'
  has '^RuntimeError: Attempting CUDA graph capture of step\(\) for an instance of Adam'
  simulated '^step 2, grad_fn of the output GraphedBackward: 24 launches, 2 graph launches$'
}

# The fastest algorithm depends on the machine, the number of searches does not. A simulated device is not timed.
benchmark_mode() {
  run 18_benchmark_mode --quick
  ends_well
  first_line
  simulated "^A simulated device's time says nothing about a GPU: what follows is timed on the CPU\\.\$"
  has '^  \* (columns|oneDNN|Winograd|explicit|implicit|cuDNN)'
  has '^bit-identical results: (False|True); largest difference / largest value: ([0-9]e-0[5-9]|0e\+00)$'
  has '^step 1: .*, 4 searches$'
  has '^step 4: .*, 0 searches$'
  has '^all of the same size +on +4 '
  has '^each smaller by one +off +0 '
  has '^each smaller by one +on +32 '
}

own_op() {
  run 31_own_op --quick
  ends_well
  first_line
  has '^grad_fn=<BiasGeluBackward>$'
  has '^result: +True$'
  has '^gradient of x: +True$'
  has '^gradient of b: +True$'
  has '^gradcheck: +True$'
  has '^the loss falls: +True$'
  has '^the same losses: True$'
  without "^This program's kernels are built for simulated devices"
  if [ "$runtime" = sim ]; then
    hasnt "^This program's kernels"
  fi
}

arguments() {
  local source name
  for source in chapters/[0-9]*.c; do
    name=$(basename "$source" .c)
    run "$name" --help
    if [ "$status" = 0 ] && grep -q '^usage: ' "$work/out" && [ ! -s "$work/err" ]; then
      echo "ok $name --help"
    else
      echo "not ok $name --help - status $status: $(head -n 1 "$work/err")"
    fi
    refuses "$name" '--fast' --fast
  done
  refuses 02_device_check 'tpu' --device tpu
  refuses 02_device_check 'needs a device' --device
  refuses 02_device_check 'cuda' --device cuda:9
  refuses 02_device_check 'mps' --device mps
  run 02_device_check --device=cpu
  ends_well
  has '^device: cpu, '
  if [ "$devices" -ge 2 ]; then
    run 06_several_gpus --quick --device cuda:1
    ends_well
    has '^device: cuda:1, '
    has '^weight.grad is on cuda:1'
  fi
}

no_colors() {
  local source name
  for source in chapters/0[23]*.c; do
    name=$(basename "$source" .c)
    run "$name" --quick
    if grep -q $'\033' "$work/out" "$work/err"; then
      echo "not ok $name has no colors in a pipe - it has"
    else
      echo "ok $name has no colors in a pipe"
    fi
  done
}

for source in chapters/[0-9]*.c; do
  if [ ! -x "$programs/$(basename "$source" .c)" ]; then
    echo "not ok chapters are built - there is no $programs/$(basename "$source" .c)"
    exit 1
  fi
done
why_a_gpu
device_check
tensor_moves
benchmarks
model_moves
several_epochs
several_gpus
pitfalls
memory
checkpointing
profiling
tracing
distributed
cuda_graphs
benchmark_mode
own_op
arguments
no_colors
