#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs of a reader's own that crash, use memory that is not the host's, or launch what cannot be launched: ./ferry cuda, play and
# inspect say so, with the line of the source.
# timeout: 600
set -u
ferry=$PWD/ferry
[ -x "$ferry" ] || { echo 'ok crashes # SKIP ./ferry is not built'; exit 0; }
case ${FERRY_BUILD:-build} in *asan* | *tsan*)
  echo 'ok crashes # SKIP sanitized builds have no ./ferry'
  exit 0
  ;;
esac
command -v addr2line >/dev/null || { echo 'ok crashes # SKIP addr2line is not installed'; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
unset FERRY_SIM_DEVICES FERRY_SIM_MODE FERRY_SIM_ORDER FERRY_SIM_GUARD
ulimit -c 0

# NAME STATUS TEXT... -- COMMAND...: the command ends with that status and prints each text.
says() {
  local name=$1 status=$2 got text texts=()
  shift 2
  while [ "$1" != -- ]; do
    texts+=("$1")
    shift
  done
  shift
  timeout 120 "$@" >said 2>&1
  got=$?
  [ "$status" = any ] || [ $got = "$status" ] || texts+=("(exit status $status, not $got)")
  for text in "${texts[@]}"; do
    grep -qF -- "$text" said && continue
    echo "not ok $name"
    echo "    not said: $text"
    sed 's/^/    /' said
    failed=1
    return
  done
  echo "ok $name"
}
says_not() { # NAME TEXT COMMAND...
  local name=$1 text=$2
  shift 2
  timeout 120 "$@" >said 2>&1
  if grep -qF -- "$text" said; then
    echo "not ok $name"
    sed 's/^/    /' said
    failed=1
  else
    echo "ok $name"
  fi
}

cat >device.cu <<'END2'
#include <cstdio>
#include <cstdlib>
__global__ void fill(int *d) { d[threadIdx.x] = 7; }
static int first(const int *d) {
  return d[0];
}
static void CUDART_CB callback(void *d) {
  ((int *)d)[1] = 8;
}
int main(int argc, char **argv) {
  int *d, how = argc > 1 ? atoi(argv[1]) : 0, sum = 0;
  cudaMalloc(&d, 40);
  fill<<<1, 8>>>(d);
  cudaDeviceSynchronize();
  if (how == 0)
    sum += first(d);
  if (how == 1)
    d[2] = 9;
  if (how == 2)
    cudaLaunchHostFunc(0, callback, d);
  cudaDeviceSynchronize();
  printf("sum %d\n", sum);
}
END2
used='cudasim: host code used a device pointer'
says 'the host reads device memory: cuda' 139 "$used" 'byte 0 of a 40-byte allocation' 'at device.cu:5' 'return d[0];' \
  'called from main, device.cu:16' -- "$ferry" cuda device.cu
says 'the host reads device memory: play' 139 "$used" 'at device.cu:5' -- "$ferry" play device.cu
says 'the host reads device memory: inspect' any "$used" 'device.cu:5' 'return d[0];' 'the program ended with status 139' \
  'fill<<<(1,1,1), (8,1,1)>>>' -- "$ferry" inspect device.cu
says 'the host writes device memory' 139 "$used" 'in main, device.cu:18' 'd[2] = 9;' -- "$ferry" cuda device.cu -- 1
says 'a host function writes device memory' 139 "$used" 'in callback, device.cu:8' '((int *)d)[1] = 8;' -- "$ferry" cuda device.cu -- 2
says 'without the guard' 0 'sum 7' -- env FERRY_SIM_GUARD=0 "$ferry" cuda device.cu

cat >kernel.cu <<'END2'
#include <cstdio>
#include <cstdlib>
__global__ void no_barrier(int *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    d[i] = i;
}
__global__ void divides(int *d, int n) {
  d[threadIdx.x] = 100 / (n - (int)threadIdx.x);
}
__global__ void barrier(int *d) {
  __shared__ int s[64];
  s[threadIdx.x] = d[threadIdx.x];
  __syncthreads();
  d[threadIdx.x + (threadIdx.x == 5 ? 1 << 28 : 0)] = s[63 - threadIdx.x];
}
int main(int argc, char **argv) {
  int *d, how = argc > 1 ? atoi(argv[1]) : 0;
  cudaMalloc(&d, 400);
  cudaMemset(d, 0, 400);
  if (how == 0)
    no_barrier<<<1, 64>>>(NULL, 50);
  if (how == 1)
    divides<<<1, 64>>>(d, 7);
  if (how == 2)
    barrier<<<1, 64>>>(d);
  puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
END2
says 'a null pointer in a kernel' 0 'null pointer' 'thread (0,0,0)' 'kernel.cu:6' '      d[i] = i;' cudaErrorIllegalAddress \
  -- "$ferry" cuda kernel.cu
says 'a division by zero in a kernel' 0 'integer division by zero' 'kernel divides' 'thread (7,0,0)' 'kernel.cu:9' \
  '100 / (n - (int)threadIdx.x);' cudaErrorLaunchFailure -- "$ferry" cuda kernel.cu -- 1
says 'a wild pointer after a barrier' 0 'thread (5,0,0)' 'kernel.cu:15' -- "$ferry" cuda kernel.cu -- 2
says 'a division by zero, inspected' any 'integer division by zero' 'kernel.cu:9' -- "$ferry" inspect kernel.cu -- 1

cat >host.cu <<'END2'
#include <cstdio>
static int sum(const int *x, int n) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += x[i];
  return s;
}
int main(int argc, char **argv) {
  printf("%d\n", sum(argc > 3 ? &argc : NULL, argc));
}
END2
says 'a crash of the host' 139 'segmentation fault' 'at host.cu:5' '      s += x[i];' 'called from main, host.cu:9' -- "$ferry" cuda host.cu

cat >abort.cu <<'END2'
#include <cassert>
__global__ void add(int *sum) { atomicAdd(sum, 1); }
int main() {
  int *sum;
  cudaMallocManaged(&sum, sizeof *sum);
  add<<<1, 8>>>(sum);
  cudaDeviceSynchronize();
  assert(*sum == 8);
}
END2
says 'an assertion of the host' 134 "abort.cu:8: int main(): Assertion \`*sum == 8' failed" 'in main, abort.cu:8' -- "$ferry" cuda abort.cu
says 'an assertion of the host: what was found before it' any 'read of uninitialized device memory' 'abort.cu:2' 'add<<<(1,1,1), (8,1,1)>>>' \
  -- "$ferry" inspect abort.cu

cat >crash.c <<'END2'
#include <stdlib.h>
#include "ferry.h"
static int descend(int n) {
  volatile char room[4096];
  room[0] = (char)n;
  return n == 0 ? 0 : descend(n + 1) + room[0];
}
int main(int argc, char **argv) {
  int how = argc > 1 ? atoi(argv[1]) : 0, *nowhere = NULL;
  if (how == 0)
    *nowhere = 3;
  if (how == 1)
    return 5 / (argc - 2);
  if (how == 2)
    return descend(1);
  abort();
}
END2
says 'a crash in C' 139 'segmentation fault' 'in main, crash.c:11' '*nowhere = 3;' -- "$ferry" play crash.c
says 'a division in C' 136 'division by zero' 'in main, crash.c:13' -- "$ferry" play crash.c -- 1
says 'a stack that overflows in C' 139 'segmentation fault' 'in descend, crash.c:' -- "$ferry" play crash.c -- 2
says 'abort in C' 134 'abort' 'in main, crash.c:16' -- "$ferry" play crash.c -- 3

cat >launch.cu <<'END2'
#include <cstdio>
#include <cstdlib>
__global__ void fill(int *d) { d[threadIdx.x] = 7; }
int main(int argc, char **argv) {
  int *d, how = argc > 1 ? atoi(argv[1]) : 0;
  cudaMalloc(&d, 400);
  fill<<<1, how == 1 ? 100 : 5000>>>(d);
  if (how == 2)
    puts(cudaGetErrorName(cudaGetLastError()));
  if (how == 3)
    puts(cudaGetErrorName(cudaPeekAtLastError()));
  cudaFree(d);
}
END2
unasked='cudasim: a launch failed, and the program did not ask for the error'
says 'a launch error that is not asked for: cuda' 0 "$unasked" 'invalid configuration argument' 'fill <<<(1,1,1), (5000,1,1)>>>' \
  'in main, launch.cu:7' 'fill<<<1, how == 1 ? 100 : 5000>>>(d);' 'at most 1024 threads' -- "$ferry" cuda launch.cu
says 'a launch error that is not asked for: play' 0 "$unasked" 'in main, launch.cu:7' -- "$ferry" play launch.cu
says 'a launch error that is not asked for: inspect' any "$unasked" 'launch.cu:7' -- "$ferry" inspect launch.cu
says_not 'no launch error' "$unasked" "$ferry" cuda launch.cu -- 1
says_not 'a launch error that is asked for' "$unasked" "$ferry" cuda launch.cu -- 2
says_not 'a launch error that is looked at' "$unasked" "$ferry" cuda launch.cu -- 3

cat >devices.cu <<'END2'
#include <cstdio>
int main() { puts(cudaGetErrorName(cudaSetDevice(3))); }
END2
says 'a device that is not there' 0 cudaErrorInvalidDevice 'the program chose device 3, and there are 2. FERRY_SIM_DEVICES=4' -- "$ferry" cuda devices.cu
says_not 'a device that is there' 'the program chose' env FERRY_SIM_DEVICES=4 "$ferry" cuda devices.cu

exit $failed
