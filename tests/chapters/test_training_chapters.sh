#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The chapters on training, with --quick, without CUDA, on simulated devices, and on a real GPU where there is one: they
# exit with 0 and print their essential lines. Then what they alone do: their options, weights and checkpoints in files,
# and what they say when the data is not there.
# run: FERRY_CUDA=off
# run all: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
# run: FERRY_CUDA=real
# timeout: 300
set -u
cd "$(dirname "$0")/../.." || exit 1
subject='training chapters'
. tests/chapters/common.sh

says() { # WHAT HAPPENED VALUE EXPECTED
  if [ "$2" = "$3" ]; then
    echo "ok $1"
  else
    echo "not ok $1 - $2 instead of $3"
  fi
}

refuses() { # CHAPTER WHAT ARGUMENT...
  local name=$1 what=$2
  shift 2
  run "$name" "$@"
  if [ "$status" = 2 ] && grep -q -- "$what" "$work/err" && [ ! -s "$work/out" ]; then
    echo "ok $name refuses $*"
  else
    echo "not ok $name refuses $* - status $status: $(head -n 1 "$work/err")"
  fi
}

accuracy() {
  sed -nE 's/^best test accuracy: ([0-9.]+) %.*/\1/p' "$work/out"
}

# ---- the chapters ----------------------------------------------------------------------------------------------------

data_pipeline() {
  run 08_data_pipeline --quick
  ends_well
  has '^(Fashion-MNIST|synthetic images, not real data) \([0-9]+ samples\)$'
  has '^938 batches in an epoch$'
  has '^batch 1: torch.Size\(\[64, 1, 28, 28\]\) and torch.Size\(\[64\]\)$'
  says "$chapter has the same order with 0 and 4 workers" \
    "$(grep '^seed 1, epoch 0, ' "$work/out" | sed 's/.*: //' | sort -u | wc -l)" 1
  says "$chapter has another order in the next epoch and with another seed" \
    "$(grep '^seed ' "$work/out" | sed 's/.*: //' | sort -u | wc -l)" 3
  has '^256 +[0-9.]+ (us|ms|s)'
  has '^4 +[0-9]+ +[0-9]+ +[0-9]+$'
  has '^4 workers and prefetcher +[0-9.]+ ms$'
  if [ "$devices" = 0 ]; then
    says "$chapter moves nothing on the CPU" "$(grep -c '^On the CPU nothing has to be moved' "$work/out")" 2
    return
  fi
  has '^pageable +[0-9.]+ (us|ms|s).* 1$'
  has '^pinned, non_blocking +[0-9.]+ (us|ms|s).* 0$' # the call returned without waiting
  has '^a batch of a loader with pin_memory is pinned: True$'
  has '^sample by sample +256 copies'
  has '^the batch +1 copies, +802.8 kB'
  has '^the batch as bytes +1 copies, +200.7 kB'
  has '^the same numbers: True$'
  says "$chapter lets no copy begin early when each step is waited for" \
    "$(sed -nE 's/^  copies that began before .*: ([0-9]+) of 5$/\1/p' "$work/out" | head -n 1)" 0
  if [ "${FERRY_SIM_MODE:-}" != lazy ]; then # the lazy simulator begins nothing before somebody waits for it
    has '^  copies that began before the step ahead of them had ended: [1-5] of 5$'
  fi
}

classifier() {
  run 09_training_a_classifier --quick --save "$work/best.safetensors"
  ends_well
  has 'Conv2d\(1, 32, kernel_size=\(3, 3\)'
  has '^824458 parameters$'
  has '[░▒▓█]'
  if [ "$devices" -gt 0 ]; then
    has '^they differ by ([0-9.]+e-0[4-9]|0\.0e\+00):'
  fi
  has '^epoch 2/2.*loss [0-9.]+'
  has '^  lr 0.001, test loss [0-9.]+, test accuracy [0-9.]+ %; '
  has '^in all, with the evaluations: [0-9.]+ m?s( \(simulated\))?$'
  has '^best test accuracy: [4-9][0-9]\.[0-9]+ % on 1000 pictures'
  has '^  features.0.weight +torch.Size\(\[32, 1, 3, 3\]\)$'
  has '^  classifier.4.bias +torch.Size\(\[10\]\)$'
  says "$chapter has the best accuracy again after loading" \
    "$(sed -nE 's/^accuracy .* of the file: +([0-9.]+) %$/\1/p' "$work/out")" "$(accuracy)"
  has ', [0-9]+ % sure'
  has '^.*: epoch 1 is done, best accuracy [0-9.]+ %$'
  has '^the weights of both, to the last bit: equal$'
  says "$chapter saved the weights" "$(head -c 200 "$work/best.safetensors" | grep -c '"F32"')" 1
}

cifar10() {
  run 10_cifar10 --quick --accumulate 2 --clip 1
  ends_well
  has '^to learn from: .*(CIFAR-10|synthetic images, not real data)'
  if [ -z "${FERRY_DATA:-}" ]; then
    has '^CIFAR-10 is not here'
    has 'made-up ones: nothing about CIFAR-10$'
  fi
  has '^without augmentation, twice the same: True$'
  has '^  \(fc1\): Linear\(in_features=2048, out_features=512, bias=True\)$'
  has '^1147466 parameters$'
  has '^largest difference of the gradients: ([0-9.]+e-0[5-9]|0\.0e\+00)$'
  has '^[0-5] +[0-9.]+ +[0-9.]+ +0\.(5000|[0-4][0-9]+)$'
  has '2 to a step, gradients clipped to 1, 2 epochs$'
  has '^in all, with the evaluations: [0-9.]+ m?s( \(simulated\))?$'
  has '^best test accuracy: [1-9][0-9]?[0-9]?\.[0-9]+ % on 500 pictures'
  says "$chapter knows ten classes" "$(grep -cE '^[a-z]+( [0-9])? +[0-9]+ +[0-9.]+ %$' "$work/out")" 10
}

mixed_precision() {
  run 12_mixed_precision --quick --gradients "$work/gradients" --save "$work/weights"
  ends_well
  has '^float16 +5 +10 +0\.00098 +65504 +2\^16 +6e-08 +2\^-24$'
  has '^bfloat16 +8 +7 +0\.0078 .* 2\^128 '
  has '^TF32 +8 +10 +0\.00098 .* 2\^128 '
  has '^float16:  65504 \* 2 = inf, 2048 \+ 1 = 2048, 1e-8 = 0$'
  if [ "$devices" = 0 ]; then
    has '^on cpu autocast takes torch.bfloat16; x is float32$'
    has '^  softmax\(x @ x\) +bfloat16$'
    has '^On the CPU nothing is waited for'
  else
    has '^on cuda:0 autocast takes torch.float16; x is float32$'
    has '^  softmax\(x @ x\) +float32$'
    has '^fy_scaler_unscale_\(scaler, optimizer\) +[0-9]+ +0$'
    has '^fy_scaler_step\(scaler, optimizer\) +[0-9]+ +1$'
    has '^fy_scaler_update\(scaler\) +1 +0$'
    has '^float16 +[0-9.]+ % .* (k|M)B$'
  fi
  has '^  relu\(x @ x\) +b?float16$'
  has '^  switched off: x @ x float32$'
  has 'gradient of the weight float32$'
  has '^1 +16777216 .* (inf|nan) +False$'
  has '^6 +524288 .* True$'
  says "$chapter skips five steps at first, and one for each growth" \
    "$(grep -cE '^[0-9]+ +[0-9]+ .* False$' "$work/out")" 7
  lost=$(sed -nE 's/^  float16, as they come: +([0-9]+) are zero, 0 infinite$/\1/p' "$work/out")
  kept=$(sed -nE 's/^  float16, scaled by 65536: +([0-9]+) are zero, 0 infinite$/\1/p' "$work/out")
  if [ "${lost:-0}" -gt "$((4 * ${kept:-0}))" ]; then
    echo "ok $chapter loses fewer gradients with a scale"
  else
    echo "not ok $chapter loses fewer gradients with a scale - $kept with one, $lost without"
  fi
  says "$chapter writes the counts" "$(awk -F '\t' '$1 == -12 { print NF }' "$work/gradients")" 4
  has 'RuntimeError: mat1 and mat2 must have the same dtype'
  has '^BatchNorm in float16: running_var inf'
  has '^Epoch 2 completed in '
  has '^Training completed in '
  says "$chapter saved float32 weights" "$(head -c 200 "$work/weights" | grep -c '"F32"')" 1
  has '^(float16|bfloat16) +[0-9.]+ %'
}

# ---- interrupted and resumed, by the options -------------------------------------------------------------------------

resumed() {
  run 09_training_a_classifier --quick --device cpu --seed 3 --schedule cosine --epochs 2 --save "$work/once.safetensors"
  ends_well
  straight=$(grep '^  lr ' "$work/out" | sed 's/ %; .*//' | sed -n 2p) # of epoch 2
  run 09_training_a_classifier --quick --device cpu --seed 3 --schedule cosine --epochs 2 --resume "$work/run"
  run 09_training_a_classifier --quick --device cpu --seed 3 --schedule cosine --epochs 3 --resume "$work/run"
  ends_well
  has '/run: epoch 2 is done, best accuracy '
  has '^epoch 3/3'
  hasnt '^epoch 2/3'
  run 09_training_a_classifier --quick --device cpu --seed 4 --epochs 3 --resume "$work/run"
  says "$chapter does not resume with another seed" "$status" 2
  echo 'not a checkpoint' >"$work/broken"
  run 09_training_a_classifier --quick --device cpu --resume "$work/broken"
  if [ "$status" = 1 ] && grep -q "$work/broken" "$work/err"; then
    echo "ok $chapter names a broken checkpoint"
  else
    echo "not ok $chapter names a broken checkpoint - status $status: $(tail -n 1 "$work/err")"
  fi
  run 09_training_a_classifier --quick --device cpu --seed 3 --schedule cosine --epochs 2 --workers 0
  says "$chapter has the same epoch 2 without workers" \
    "$(grep '^  lr ' "$work/out" | sed 's/ %; .*//' | sed -n 2p)" "$straight"
}

# ---- options, and data that is not there -----------------------------------------------------------------------------

options() {
  refuses 09_training_a_classifier 'whole number' --epochs 0
  refuses 09_training_a_classifier 'whole number' --batch-size many
  refuses 09_training_a_classifier 'number' --lr nan
  refuses 09_training_a_classifier 'cosine' --schedule linear
  refuses 09_training_a_classifier 'needs FILE' --save
  refuses 10_cifar10 'whole number' --accumulate=-1
  run 10_cifar10 --help
  has '^  --resume FILE '
  mkdir "$work/empty"
  for name in 09_training_a_classifier 10_cifar10; do
    run "$name" --quick --data "$work/empty"
    if [ "$status" = 1 ] && grep -q "OSError: .*$work/empty" "$work/err"; then
      echo "ok $name says where it looked for the data"
    else
      echo "not ok $name says where it looked for the data - status $status: $(tail -n 1 "$work/err")"
    fi
  done
}

# CIFAR-10 in files: three batches' worth of made-up records.
cifar10_from_files() {
  mkdir "$work/cifar"
  for file in data_batch_1 test_batch; do
    head -c $((3073 * 600)) /dev/zero | LC_ALL=C tr '\0' '\1' >"$work/cifar/$file.bin"
  done
  run 10_cifar10 --quick --device cpu --data "$work/cifar" --epochs 1
  ends_well
  has '^to learn from: +CIFAR-10 \(600 samples\)$'
  has '^best test accuracy: 100.00 % on 500 pictures$' # every label is 1, and that is soon learned
  hasnt 'made.up'
}

data_pipeline
classifier
cifar10
mixed_precision
if [ "$runtime" = off ]; then # once is enough: these do not depend on the device
  resumed
  options
  cifar10_from_files
fi
