#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# cu2cpp --split: kernels with barriers as loops over a block's threads give what the threads give one by one.
# `tests/programs/test_split.sh --all` draws many more kernels, and runs each right answer of the exercises both ways (both_ways.sh).
# run all: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
# timeout: 600
set -u
ferry=$PWD/ferry here=$PWD/tests/programs
[ -x "$ferry" ] || { echo 'ok programs # SKIP ./ferry is not built'; exit 0; }
case ${FERRY_BUILD:-build} in *asan* | *tsan*)
  echo 'ok programs # SKIP sanitized builds have no ./ferry'
  exit 0
  ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
unset FERRY_SIM_DEVICES FERRY_SIM_MODE FERRY_SIM_ORDER FERRY_SIM_SPLIT

check() { # NAME, then a command that succeeds
  local name=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok $name"
  else
    echo "not ok $name"
    sed 's/^/    /' "$work/said" | tail -n 20
    failed=1
  fi
}

build() { # NAME.cu to NAME, and what cu2cpp says of its kernels
  CU2CPP_TELL=1 "$ferry" nvcc -w -Xcompiler -fwrapv "$1.cu" -o "$work/program" 2>"$work/told" && ! grep 'do not compile' "$work/told"
}
same() { # the program just built, whichever way its kernels run
  FERRY_SIM_SPLIT=1 "$work/program" >"$work/split" && FERRY_SIM_SPLIT=0 "$work/program" >"$work/whole" &&
    FERRY_SIM_ORDER=random:3 "$work/program" >"$work/random" && diff "$work/whole" "$work/split" && cmp "$work/whole" "$work/random"
}

only() { # SPLIT JOINED, how many: kernels whose names begin with yes_ are split, with joins_ joined, others neither
  ! awk -F': ' '/: (yes|no|joins)_/ {
    is = $3 == "split" || $3 == "joined" ? $3 : "no"
    if (is != ($2 ~ /^yes_/ ? "split" : $2 ~ /^joins_/ ? "joined" : "no")) print }' "$work/told" | grep . &&
    [ "$(grep -c ': split' "$work/told")" = "$1" ] && [ "$(grep -c ': joined' "$work/told")" = "$2" ]
}
known() { # NAME of tests/programs/NAME.cu, and how many kernels of it are split and joined
  cp "$here/$1.cu" "$work/cases.cu"
  check "kernels of $1.cu compile" build "$work/cases"
  check "kernels of $1.cu: the same results" same
  check "kernels of $1.cu: what is split" only "$2" "$3"
}
known split 24 8
known own_names 11 0
known unnamed_calls 4 0
cat >"$work/cases.cu" <<'END'
#include <stdio.h>
struct Meeting {
  __device__ int operator()(int x) const {
    return __syncthreads_count(x);
  }
};
template <class F> __device__ int applied(int x) {
  return F()(x);
}
__global__ void no_operator_that_waits(int *out) {
  __syncthreads();
  out[threadIdx.x] = applied<Meeting>(threadIdx.x % 3);
}
int main() {
  int *out;
  cudaMallocManaged(&out, 64 * sizeof *out);
  no_operator_that_waits<<<1, 64>>>(out);
  printf("%s %d %d\n", cudaGetErrorString(cudaDeviceSynchronize()), out[0], out[63]);
}
END
check 'an operator that waits compiles' build "$work/cases"
check 'an operator that waits: the same results' same
check 'an operator that waits: what is split' only 0 0

for seed in 11 12; do
  python3 "$here/draw_kernels.py" "$seed" 8 >"$work/drawn.cu"
  check "drawn kernels $seed compile" build "$work/drawn"
  check "drawn kernels $seed: all are split" test "$(grep -c ': split' "$work/told")" = 8
  check "drawn kernels $seed: the same results" same
done
for seed in 21 22 23; do
  python3 "$here/draw_kernels.py" "$seed" 8 warps >"$work/drawn.cu"
  check "drawn kernels with warp functions $seed compile" build "$work/drawn"
  check "drawn kernels with warp functions $seed: all are split" test "$(grep -c ': split' "$work/told")" = 8
  check "drawn kernels with warp functions $seed: the same results" same
done
for seed in 31 32; do
  python3 "$here/draw_kernels.py" "$seed" 12 places >"$work/drawn.cu"
  check "drawn kernels with places $seed compile" build "$work/drawn"
  check "drawn kernels with places $seed: most are joined" test "$(grep -c ': joined' "$work/told")" -ge 6
  check "drawn kernels with places $seed: the same results" same
done

# The program's functions by names like the device's own. With --all, many more kernels.
drawn_names() { # SEED KIND...
  python3 "$here/draw_kernels.py" "$1" 8 "${@:2}" names >"$work/drawn.cu"
  check "drawn kernels with names $* compile" build "$work/drawn"
  check "drawn kernels with names $*: most are split" test "$(grep -cE ': (split|joined)' "$work/told")" -ge 4
  check "drawn kernels with names $*: the same results" same
}
drawn_names 41 warps
if [ "${1:-}" = --all ]; then
  for seed in $(seq 100 3 199); do
    drawn_names "$seed" warps
    drawn_names $((seed + 1)) places
    drawn_names $((seed + 2))
  done
  "$here/both_ways.sh" || failed=1
fi

# What is reported is what threads that run one by one report.
cat >"$work/faults.cu" <<'END'
#include <assert.h>
__global__ void beyond(int *x, int n) {
  __shared__ int s[64];
  s[threadIdx.x] = n;
  __syncthreads();
  if (threadIdx.x == 37)
    x[s[63 - threadIdx.x]] = 1;
}
__global__ void fails(int *x) {
  __syncthreads();
  assert(threadIdx.x != 41);
  x[threadIdx.x] = 0;
}
__global__ void divergent(int *x) {
  if (threadIdx.x < 32)
    __syncthreads();
  else
    x[0] = 1;
}
__global__ void far(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i == 9000 ? 1 << 30 : i % 64] = 1;
}
int main(int argc, char **) {
  int *x;
  cudaMalloc(&x, 256);
  if (argc == 4)
    far<<<1000, 10>>>(x, 10000);
  else if (argc == 1)
    beyond<<<1, 64>>>(x, 1 << 30);
  else if (argc == 2)
    fails<<<1, 64>>>(x);
  else
    divergent<<<1, 64>>>(x);
  return cudaDeviceSynchronize();
}
END
check 'faults compile' build "$work/faults"
says() { # TEXT, the program's arguments
  local text=$1
  shift
  "$work/program" "$@" >"$work/all" 2>&1
  grep -qF -- "$text" "$work/all" || { cat "$work/all" && false; }
}
check 'an illegal address: its thread' says 'thread (37,0,0)'
check 'a failed assert: its thread' says 'thread: [41,0,0]' 1
check 'an illegal address in a joined kernel: its block and thread' says 'block (900,0,0)' 1 2 3
check 'a divergent barrier' says 'after threads of the block have returned' 1 2

cat >"$work/wrong.cu" <<'END'
__global__ void k(int *x) {
  __syncthreads();
  x[0] = undeclared;
}
int main() { k<<<1, 1>>>(nullptr); }
END
once() { # an error is said once
  "$ferry" nvcc -c "$work/wrong.cu" -o /dev/null 2>&1 | tee "$work/all"
  [ "$(grep -c 'wrong.cu:3:.*error' "$work/all")" = 1 ]
}
check 'a mistake is told once, in its line' once

# A block in which nothing happens any more: the watchdog says where, with lines where binutils is there to tell them.
cat >"$work/hangs.cu" <<'END'
__device__ int wait_for(volatile int *flag) {
  while (*flag == 0)
    ;
  return 1;
}
__global__ void hangs(int *flag) {
  __syncthreads();
  if (threadIdx.x == 0)
    wait_for(flag);
  else
    *flag = 1;
}
int main() {
  int *flag;
  cudaMalloc(&flag, 4);
  cudaMemset(flag, 0, 4);
  hangs<<<1, 64>>>(flag);
  return cudaDeviceSynchronize();
}
END
check 'a kernel that hangs compiles' build "$work/hangs"
export FERRY_SIM_WATCHDOG=1 FERRY_SIM_SECONDS=2
check 'a kernel that hangs: the last barrier' says 'it has passed: ' && check '... its line' says 'hangs.cu:7'
if command -v addr2line >/dev/null; then
  check 'a kernel that hangs: where it is' says 'hangs.cu:2'
else
  echo 'ok the line where a kernel hangs # SKIP addr2line (binutils) is not here'
fi
exit $failed
