// SPDX-License-Identifier: MIT
// For clangd alone, which reads CUDA C by itself, unconverted; .clangd includes this before everything. Kernels may call what the
// simulator's headers define, and launches are launches.
#if defined(__clang__) && defined(__CUDA__) && !defined(CUDASIM_EDITOR_H)
#define CUDASIM_EDITOR_H

#pragma clang force_cuda_host_device begin
#define __device__ __attribute__((device)) // clang's own <new> has an operator of its own for devices
#include <new>
#undef __device__
#include <cuda_runtime.h>
#undef __global__
#define __global__ __attribute__((global))
extern "C" unsigned __cudaPushCallConfiguration(...);

#endif
