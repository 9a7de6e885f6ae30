#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What ./ferry inspect counts of a kernel decides its time on a device that plays a GPU.
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for mode in threads lazy sync; do
  FERRY_SIM_GPU=a100 FERRY_SIM_MODE=$mode "$ferry" inspect tests/core/inspect/kernels/modeled.cu >"$work/$mode" 2>"$work/$mode.err"
  grep -hE '^(copy|naive|conflicting|padded) [0-9.]+ us$' "$work/$mode" "$work/$mode.err" | sort -k 2 -n >"$work/times"
  [ "$(awk '{ printf "%s ", $1 }' "$work/times")" = 'copy padded conflicting naive ' ]
  result $? "transpositions in their known order ($mode)" "$(tr '\n' ';' <"$work/times")"
  awk '{ t[$1] = $2 } END { exit !(t["naive"] > 1.8 * t["copy"] && t["naive"] < 20 * t["copy"] && t["copy"] < 10) }' "$work/times"
  result $? "and by factors that a GPU shows ($mode)" "$(tr '\n' ';' <"$work/times")"
  cat "$work/$mode" "$work/$mode.err" | grep -q 'cudasim: times between events are modeled, not measured: .* NVIDIA A100$'
  result $? "labeled as modeled ($mode)" 'no label'
done
cp "$work/threads" "$work/first"
FERRY_SIM_GPU=a100 "$ferry" inspect tests/core/inspect/kernels/modeled.cu --blocks 32 >"$work/sampled" 2>&1
naive() { awk '$1 == "naive" && $3 == "us" { print $2 }' "$@"; }
awk -v a="$(naive "$work/first" "$work/threads.err")" -v b="$(naive "$work/sampled")" 'BEGIN { exit !(a > 0 && b / a > 0.9 && b / a < 1.1) }'
result $? 'counts of some blocks stand for all' "$(naive "$work/first" "$work/threads.err") and $(naive "$work/sampled")"

# ---- a line for each kernel ----

"$ferry" inspect tests/core/inspect/kernels/counts.cu --table >"$work/table" 2>&1
long=$(awk 'length($0) > 80' "$work/table")
[ -z "$long" ] && grep -q '^kernel  *runs  *load store  *load store  *lanes  *launch$' "$work/table"
result $? 'a table without a GPU has no times' "$(tr '\n' ';' <"$work/table")"
FERRY_SIM_GPU=a100 "$ferry" inspect chapters/kernels/transpose.cu --table >"$work/table" 2>&1
grep -q "^times are modeled, from counts and the A100's data sheet, not measured$" "$work/table"
result $? 'a table says that its times are modeled' "$(tr '\n' ';' <"$work/table")"
row() { grep "^$1 " "$work/table"; }
awk '{ exit !($3 == "4.0" && $4 == "32.0" && $5 == "-" && $6 == "-" && $9 > 0) }' <<<"$(row naive)"
result $? 'its counts and its time stand in the row of a kernel' "$(row naive)"
awk 'NR == 1 { naive = $9 } NR == 2 { exit !(naive > 1.2 * $11) }' <<<"$(row naive; row "tiled<TILE + 1>")"
result $? "a slower kernel has a longer time" "$(row naive; row "tiled<TILE + 1>")"
! grep -q ' us$' "$work/table"
result $? "and the program's own output does not" "$(tr '\n' ';' <"$work/table")"

# ---- the report alone ----

"$ferry" inspect chapters/kernels/transpose.cu --kernel naive >"$work/whole" 2>&1
"$ferry" inspect chapters/kernels/transpose.cu --kernel naive --quiet >"$work/quiet" 2>&1
[ "$(head -n 1 "$work/whole")" = 'no error' ] && diff <(tail -n +2 "$work/whole") "$work/quiet" >"$work/difference"
result $? "--quiet leaves out what the program prints, and nothing else" "$(head -n 4 "$work/difference" | tr '\n' ';')"

# ---- launches side by side ----

# Two kernels that do the same, one launched into one stream and one into four: a launch has the same time in both rows.
cat >"$work/streams.cu" <<'END'
#include <cuda_runtime.h>
__global__ void in_one(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int turn = 0; turn < 200; turn++)
    x[i] = x[i] * 0.5 + n;
}
__global__ void in_four(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int turn = 0; turn < 200; turn++)
    x[i] = x[i] * 0.5 + n;
}
int main(void) {
  enum { N = 256 * 64, STREAMS = 4 };
  double *x;
  cudaStream_t streams[STREAMS];
  cudaMalloc(&x, 2 * STREAMS * N * sizeof(double));
  cudaMemset(x, 0, 2 * STREAMS * N * sizeof(double));
  for (int s = 0; s < STREAMS; s++)
    cudaStreamCreate(&streams[s]);
  for (int i = 0; i < 2 * STREAMS; i++)
    in_one<<<N / 256, 256, 0, streams[0]>>>(x + i * N, 1);
  cudaDeviceSynchronize();
  for (int i = 0; i < 2 * STREAMS; i++)
    in_four<<<N / 256, 256, 0, streams[i % STREAMS]>>>(x + i * N, 1);
  cudaDeviceSynchronize();
  cudaFree(x);
  return 0;
}
END
FERRY_SIM_GPU=rtx3090 "$ferry" inspect "$work/streams.cu" --table --blocks 16 >"$work/table" 2>&1
awk '$1 == "in_one" { one = $9 } $1 == "in_four" { four = $9 } END { exit !(one > 5 && four / one > 0.95 && four / one < 1.05) }' "$work/table"
result $? 'launches side by side have the time of their own work' "$(grep '^in_' "$work/table" | tr '\n' ';')"

# A vote is one instruction, and not the loop that simulates it: its row has the time of a kernel that reads and no more.
cat >"$work/votes.cu" <<'END'
#include <cuda_runtime.h>
__global__ void reads(const float *x, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 2 && threadIdx.x % 32 == 0)
    atomicAdd(count, 1);
}
__global__ void votes(const float *x, int *count, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int above = __ballot_sync(0xffffffffu, i < n && x[i] > 2);
  if (above && threadIdx.x % 32 == 0)
    atomicAdd(count, __popc(above));
}
int main(void) {
  int *count;
  float *x;
  cudaMalloc(&count, sizeof *count);
  cudaMalloc(&x, sizeof *x << 18);
  cudaMemset(count, 0, sizeof *count);
  cudaMemset(x, 0, sizeof *x << 18);
  reads<<<1024, 256>>>(x, count, 1 << 18);
  votes<<<1024, 256>>>(x, count, 1 << 18);
  cudaDeviceSynchronize();
  cudaFree(count);
  cudaFree(x);
  return 0;
}
END
FERRY_SIM_GPU=v100 "$ferry" inspect "$work/votes.cu" --table --blocks 32 >"$work/table" 2>&1
awk 'NR == 1 { reads = $9 } NR == 2 { exit !(reads > 0 && $9 < 1.3 * reads) }' <<<"$(row reads; row votes)"
result $? "a vote costs an instruction" "$(row reads; row votes)"

# What meets at one address waits for each other, whichever blocks it is from: 2^18 additions at 0.87 cycles of V100's 1530 MHz.
cat >"$work/meet.cu" <<'END'
#include <cuda_runtime.h>
__global__ void everywhere(int *counts) {
  atomicAdd(&counts[blockIdx.x * blockDim.x + threadIdx.x], 1);
}
__global__ void in_blocks(int *counts) {
  atomicAdd(&counts[blockIdx.x], 1);
}
__global__ void at_one(int *counts) {
  atomicAdd(counts, 1);
}
int main(void) {
  int *counts;
  cudaMalloc(&counts, sizeof *counts << 18);
  cudaMemset(counts, 0, sizeof *counts << 18);
  everywhere<<<1024, 256>>>(counts);
  in_blocks<<<1024, 256>>>(counts);
  at_one<<<1024, 256>>>(counts);
  cudaDeviceSynchronize();
  cudaFree(counts);
  return 0;
}
END
for blocks in 1024 32; do
  FERRY_SIM_GPU=v100 "$ferry" inspect "$work/meet.cu" --table --blocks $blocks >"$work/table" 2>&1
  awk 'NR < 3 { exit !($9 > 0 && $9 < 20) } { exit !($9 > 140 && $9 < 170 && $10 == "L2") }' <<<"$(row everywhere; row in_blocks; row at_one)"
  result $? "atomics at one address wait for each other, $blocks blocks looked at" "$(row everywhere; row in_blocks; row at_one)"
done
# ---- where the model is known to be off ----

# Two of the four kernels use shared memory, which limits one of them.
said() { "$ferry" inspect tests/core/inspect/kernels/modeled.cu --once --no-registers --gpu "$1" --quiet 2>&1 | grep -c 'It is limited by shared memory. On an A100'; }
[ "$(said a100)" = 1 ] && [ "$(said a6000)" = 0 ]
result $? 'the report warns of shared memory on the A100' "$(said a100) and $(said a6000) warnings"
finish
