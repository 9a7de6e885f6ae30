#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ./ferry inspect on kernels without a main: launched as the options say, or as a comment of the file says.
# timeout: 900
# run:
# shellcheck source=tests/support/tap.sh
. tests/support/tap.sh
ferry=${FERRY_BUILD:-build}/ferry
[ -x "$ferry" ] || skip_all "$ferry is not built (a sanitized build has none)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/kernels.cu" <<'END'
#include "scale.h"
// __global__ void commented(int *x) is no kernel, nor is "__global__ void quoted(int *x)".
__global__ void add(float a, const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    y[i] += SCALE * a * x[i];
}

template <class T, int TILE>
__global__ void __launch_bounds__(TILE) reverse(T *__restrict__ x) {
  __shared__ T tile[TILE];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[TILE - 1 - threadIdx.x];
}

namespace filters {
extern "C" __global__ void
smooth(const float in[], float *out, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns - 1)
    out[row * columns + column] = (in[row * columns + column] + in[row * columns + column + 1]) / 2;
}
} // namespace filters

int main() {
  return 1;
}
END
echo '#define SCALE 2' >"$work/scale.h"
cat >"$work/commented.cu" <<'END'
//pass
//--blockDim=64 --gridDim=[2,2] --no-inline
__global__ void scatter(const int *index, int *out) {
  const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
  out[index[i]] = i;
}
END

inspect() { # FILE STATUS [ARGUMENTS]: its report in $work/out; false where the status is another
  "$ferry" inspect "$work/$1" --no-registers --quiet "${@:3}" >"$work/out" 2>&1
  local status=$?
  [ $status = "$2" ] || echo "status $status" >>"$work/out"
  [ $status = "$2" ]
}
shows() { # WHAT PATTERN...: the report of `inspect` that came before, and its result
  local good=$? pattern
  for pattern in "${@:2}"; do
    grep -qE -e "$pattern" "$work/out" || good=1
  done
  result $good "$1" "$(head -n 8 "$work/out" | tr '\n' ';')"
}

inspect kernels.cu 1 --kernel add --grid 2 --block 128 --arg n=250 --arg 'x=float[n + 1]' --arg 'y=float[n]'
shows 'an array of n elements, and an index of n' 'out of bounds in device memory' 'kernels\.cu:6: 4 bytes at byte 1000 of 1000' \
  'Allocated at kernels\.cu:3' '^add<<<\(2,1,1\), \(128,1,1\)>>> +3 launches'
inspect kernels.cu 0 --kernel add --grid 2 --block 128 --arg n=250 --arg 'x=float[n+1]' --arg 'y=float[(2*n+2)/2]'
shows 'the same with room for it' 'no findings' '^Checked only for these launches: arrays of zeros'
inspect kernels.cu 0 --kernel add --grid 2 --block 128 --arg n=threads-1
shows 'as many elements as threads, without --arg' 'no findings'
echo '#define HALF(x) ((x) / 2)' >"$work/half.h"
inspect kernels.cu 1 --kernel add --grid 2 --block 32 --arg n=threads --arg '*=[threads / 2]' -include "$work/half.h"
shows 'half as many elements as threads for all pointers' 'at byte 128 of 128'
inspect kernels.cu 1 --kernel 'reverse<float, 64>' --grid 1 --block 64
shows 'a template instance' 'data race within a block' 'byte 128 of tile: thread 31 reads'
inspect kernels.cu 0 --kernel 'reverse<double, 32>' --grid 1 --block 32
inspect kernels.cu 0 --kernel filters::smooth --grid 2,2 --block 16,4 --arg rows=7 --arg columns=30 --arg 'in=float[rows*columns] random' \
  --arg 'out=float[rows * columns]'
shows 'a kernel in a namespace, in two dimensions' 'no findings' '<<<\(2,2,1\), \(16,4,1\)>>>'
inspect commented.cu 1
shows 'a launch that a comment tells: equal indices race, in zeros and random numbers' 'commented\.cu:5: byte 0 of 1024' \
  '<<<\(2,2,1\), \(64,1,1\)>>>'
inspect commented.cu 0 --arg 'index=int[threads] permutation'
shows 'a permutation has no equal indices' 'no findings'


# ---- sizes that nothing is said about ----
cat >"$work/sizes.cu" <<'END'
__global__ void shift(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i < n - 1 || n % 64 == 0 ? i : 0] = i;
}
__global__ void offset(const int *in, int *out, int rows, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows)
    out[i / columns * columns] = in[i];
}
__global__ void long_loop(int *x, int n) {
  int sum = 0;
  for (int i = 0; i < 20000; i++)
    sum += *(volatile int *)&x[threadIdx.x];
  if (n == (int)blockDim.x + 1 && threadIdx.x > 10)
    x[threadIdx.x - 1] = sum;
}
END
inspect sizes.cu 1 --kernel shift --grid 2 --block 64
shows 'the smallest of several sizes with a finding is told' 'race within a block' 'with n =' ' 63, zeros'
grep -q 'Checked only for these launches: n = 1, 63, 64, 65, 127, 128, 129, each with' "$work/out"
result $? 'and all that were tried' "$(head -n 2 "$work/out")"
inspect sizes.cu 0 --kernel shift --grid 2 --block 64 --arg n=128
shows 'a size that is given is not varied' 'Checked only for these launches: arrays of zeros' '3 launches'
inspect sizes.cu 1 --kernel offset --grid 1 --block 32 --arg columns=4
grep -q 'launches: rows = 1, 31, 32, 33, each' "$work/out"
shows 'a size that is given beside one that is not' 'race within a warp'
inspect sizes.cu 0 --kernel long_loop --grid 1 --block 64
grep -q 'launches: n = 1, 63, 64, each' "$work/out"
result $? 'after long launches only the number of threads is tried' "$(head -n 2 "$work/out")"
cat >"$work/grid.cu" <<'END'
#include <cooperative_groups.h>
__global__ void rotate(int *x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, value = x[(i + 1) % (gridDim.x * blockDim.x)];
  cooperative_groups::this_grid().sync();
  x[i] = value;
}
END
inspect grid.cu 0 --grid 4 --block 32
shows 'a kernel with a grid barrier is launched cooperatively' 'no findings' '12 of 12 blocks'
inspect sizes.cu 3 --kernel shift --grid 1 --block 2048
shows 'a launch that CUDA refuses' 'the launch with n = .* failed: invalid configuration'

# ---- what is wrong with the command ----
inspect kernels.cu 3 --grid 1 --block 32
shows 'several kernels, and none chosen' 'several kernels \(add, reverse, smooth\): choose one with --kernel'
inspect kernels.cu 3 --kernel subtract --grid 1 --block 32
shows 'a kernel that is not there' 'has no kernel subtract'
inspect kernels.cu 3 --kernel reverse --grid 1 --block 32
shows 'a template without arguments' "reverse is a template: give its arguments"
inspect kernels.cu 3 --kernel add --grid 0 --block 32
shows 'an empty grid' '--grid takes up to three numbers'
inspect kernels.cu 3 --kernel add --grid 1 --block 32 --arg m=1
shows 'a parameter that is not there' '--arg m=1: add has no such parameter'
inspect kernels.cu 3 --kernel add --grid 1 --block 32 --arg 'x=float[m]'
shows 'a size that is not known' 'a number, a parameter, grid, block or threads is expected at m'
inspect kernels.cu 3 --kernel add --grid 1 --block 32 --arg 'x=float[4] ones'
shows 'a content that there is not' 'zeros, permutation or random, not ones'
inspect kernels.cu 3 --kernel add --grid 1 --block 32 --arg x=5
shows 'a number for a pointer' 'it is a pointer'
sed '/^int main/,$d; 1d' "$work/kernels.cu" >"$work/alone.cu"
inspect alone.cu 2
shows 'no main, and nothing said' 'Say how to launch one of them' '--kernel NAME --grid 8 --block 256'
"$ferry" inspect solutions/20_1_saxpy.cu --grid 1 >"$work/out" 2>&1
[ $? = 2 ]
shows 'an answer to an exercise is launched by its tests' 'whose tests launch it'
finish
