#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a verdict says of an answer's source: the line and the callers of a crash, the line of a kernel's fault, the warning that matters,
# and the host threads that kernel exercises have no use for.
# run: FERRY_CUDA=sim FERRY_SIM_DEVICES=2
# timeout: 300
# shellcheck source=tests/grader/common.sh
. "$(dirname "$0")/common.sh"
chmod 755 "$work"
mkdir -m 1777 "$work/tmp"
export TMPDIR=$work/tmp FERRY_WORK=$work/mine

c_answer() { # BODY of offset_grid, after some helpers
  cat >"$work/03_1_create_on_the_device.c" <<END2
#include "ferry.h"
#include <stdlib.h>
__attribute__((noinline)) static void store(int *p, int value) {
  *p = value;
}
__attribute__((noinline)) static int descend(int n) {
  volatile char room[4096];
  room[0] = (char)n;
  return n < 0 ? 0 : descend(n + 1) + room[0];
}
FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  (void)store;
  (void)descend;
  $1
}
END2
}
kernel_answer() { # BODY of the kernel
  cat >"$work/20_1_saxpy.cu" <<END2
#include <cuda_runtime.h>
__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  $1
}
extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<(n + 255) / 256, 256>>>(y, x, a, n);
}
END2
}
run_c() { "$ferry" run 3.1 --file "$work/03_1_create_on_the_device.c" --test 'on a GPU'; }
run_kernel() { "$ferry" run 20.1 --file "$work/20_1_saxpy.cu" --test 'one element'; }

c_answer 'store((int *)(size_t)(rows < 0), 3);
  return NULL;'
says 'a crash: its line' 1 'in store, 03_1_create_on_the_device.c:4' run_c
says 'a crash: its text' 1 '  *p = value;' run_c
says 'a crash: its caller' 1 'called from offset_grid, 03_1_create_on_the_device.c:14' run_c
c_answer 'return descend((int)rows) ? NULL : fy_zeros(fy_shape(1));'
says 'a stack that overflows' 1 'in descend, 03_1_create_on_the_device.c' run_c
c_answer 'free((void *)(size_t)(rows + 4096)); return NULL;'
says 'a crash in a library that was called' 1 'offset_grid, 03_1_create_on_the_device.c:14' run_c
c_answer 'int32_t *p = malloc(8); free(p); *(volatile int32_t *)p = 1; return NULL;'
says 'use after free' 1 'offset_grid, 03_1_create_on_the_device.c:14' run_c
c_answer 'FyTensor *t; int idle; return t;'
says 'a warning: what was never set comes first' 1 'is used uninitialized' run_c
c_answer 'return NULL;'
[[ $(run_c) != *'unused parameter'* ]]
result $? 'a warning: none of a given signature'

kernel_answer 'y[(size_t)i + ((size_t)n << 28)] = a * x[i];'
says 'a fault in a kernel: its line' 1 'in saxpy, 20_1_saxpy.cu:4' run_kernel
says 'a fault in a kernel: its text' 1 'y[(size_t)i + ((size_t)n << 28)] = a * x[i];' run_kernel
kernel_answer 'if (i < n) y[i] = 100 / (i - n + 1);'
says 'a division by zero in a kernel' 1 'integer division by zero' run_kernel
sed -i 's|  if (n > 0)|  if (n > 0) y[0] = 1;\n  if (n > 0)|' "$work/20_1_saxpy.cu"
says 'a device pointer dereferenced on the host: its line' 1 'in saxpy_on_device, 20_1_saxpy.cu:7' run_kernel

cat >"$work/20_1_saxpy.cu" <<'END2'
#include <cuda_runtime.h>
#include <thread>
extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  std::thread([=] {
    for (int i = 0; i < n; i++)
      y[i] += a * x[i];
  }).join();
}
END2
says 'a host thread in a kernel exercise' 1 'which answers must not use' run_kernel
finish
