#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A C library may declare any of CUDA's mathematical functions in its <math.h>, as glibc 2.41 does sinpi and glibc 2.42 rsqrt.
# This test makes a <math.h> that declares all of them, and compiles and runs a program against it and against the real one.
# run:
set -u
. tests/support/tap.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
include=core/sim/include build=${FERRY_BUILD:-build}

# The prototypes of the functions that the simulator's headers define outside of any namespace, as C++ with the includes resolved.
echo '#include <cuda_runtime.h>' | g++ -std=c++17 -E -I$include -x c++ - >"$work/all.cpp" || exit 1
awk '/^# [0-9]+ "/ { wanted = $3 ~ /cudasim_(math|intrinsics)\.h"$/; next } wanted' "$work/all.cpp" |
  tr '\n' ' ' | sed 's/template <[^>]*>[^{;]*[{;]//g' |
  sed 's/static inline/static/g' | # overloads, which no C library has
  grep -oE '\binline [a-z ]+ [*]?[a-z_0-9]+\([^(){}]*\) \{' | sed 's/^inline //; s/ {$//' | grep -v cudasim >"$work/prototypes"
name_of() { sed -E 's/\(.*//; s/.*[ *]//'; }
name_of <"$work/prototypes" | sort | uniq -c | awk '$1 == 1 { print $2 }' >"$work/names" # those that are not overloaded
mkdir "$work/include"
{
  echo '#pragma once'
  echo '#pragma GCC system_header'
  echo '#include_next <math.h>'
  echo '#ifdef __cplusplus'
  while IFS= read -r prototype; do
    name=$(name_of <<<"$prototype")
    grep -qx "$name" "$work/names" && echo "extern \"C\" $prototype noexcept(true);"
  done <"$work/prototypes"
  echo '#endif'
} >"$work/include/math.h"
found=$(grep -c noexcept "$work/include/math.h")
[ "$found" -ge 150 ] && grep -qx sinpi "$work/names" && grep -qx rsqrt "$work/names" && grep -qx umin "$work/names"
result $? 'the prototypes are found' "$found: $(tr '\n' ' ' <"$work/names" | head -c 500)"

# Calls, qualified calls, addresses, and the standard library's functions keep working.
cat >"$work/program.cu" <<'E2'
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>
#include <math.h>

__device__ float apply(float (*function)(float), float x) {
  return function(x);
}
__device__ float norm3d(float3 v) { // an overload of the user's
  return std::sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}
template <class F> __device__ float apply_any(F function, float x) {
  return function(x);
}
__global__ void kernel(double *out) {
  float sine, cosine;
  sincospif(0.5f, &sine, &cosine);
  out[0] = sinpi(0.5) + cospi(1.0) + ::rsqrt(4.0) + rsqrtf(16.0f);
  out[1] = apply(rsqrtf, 4.0f) + apply(&::rcbrtf, 8.0f) + apply_any(sinpif, 1.5f);
  out[2] = std::sqrt(16.0) + std::fma(1.0, 2.0, 3.0) + sine + cosine;
  out[3] = norm3d(make_float3(2, 3, 6)) + norm3d(1.0, 2.0, 2.0) + __fdividef(1.0f, 2.0f) + __popc(7u) + umin(3u, 4u);
}
int main() {
  double *d, h[4];
  cudaMalloc(&d, sizeof h);
  kernel<<<1, 1>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g %g %g %g\n", h[0], h[1], h[2], h[3]);
  return cudaFree(d);
}
E2
build/cu2cpp "$work/program.cu" "$work/program.cpp" || exit 1

compile_and_run() { # COMPILER WHAT [OPTION...]
  local compiler=$1 what=$2
  shift 2
  if ! command -v "$compiler" >/dev/null; then
    skip "$compiler, $what" "$compiler is not installed"
    return
  fi
  "$compiler" -std=c++17 -O1 -Wall -Wextra -Werror -Wno-unknown-pragmas "$@" -I$include -c "$work/program.cpp" -o "$work/program.o" \
    >"$work/out" 2>&1 &&
    g++ "$work/program.o" "$build/libcudasim.a" -o "$work/program" -fopenmp -lm -ldl -lpthread >"$work/out" 2>&1 &&
    "$work/program" >"$work/out" 2>&1
  [ "$(cat "$work/out")" = '0.75 0 10 16.5' ]
  result $? "$compiler, $what" "$(head -n 12 "$work/out" | tr '\n' ' ')"
}
for compiler in g++ clang++; do
  compile_and_run $compiler 'this C library'
  compile_and_run $compiler 'one that declares all of them' -isystem "$work/include"
done
finish
