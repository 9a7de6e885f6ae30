// SPDX-License-Identifier: MIT
// FyLaunch: one execution of a kernel, as the kernel sees it. Plain C, shared with the CUDA sources.
//
// CPU kernels are `int fy_cpu_<op>(FyLaunch *)`, CUDA ones `int fy_cuda_<op>(FyLaunch *)`. Inputs and outputs are
// described by FyArray; the dispatcher has checked shapes and dtypes, allocated the outputs and made the device current.
// A kernel returns 0, or an error code of its runtime (cudaError_t; FY_LAUNCH_..., device/backend.h), and never raises.
#ifndef FERRY_OP_LAUNCH_H
#define FERRY_OP_LAUNCH_H

#include "device/backend.h"
#include "tensor/array.h"

enum { FY_MAX_INPUTS = 8, FY_MAX_OUTPUTS = 4 };

typedef struct FyLaunch {
  const FyArray *in[FY_MAX_INPUTS]; // NULL for an optional input not given
  FyArray *out[FY_MAX_OUTPUTS];
  int n_in, n_out;
  const void *params; // the op's own struct

  // CUDA only.
  int device;
  int multi_processors;
  void *stream; // cudaStream_t
  // Stores a cublasHandle_t that is set to the stream, made when a thread first asks. 0, or a code to return. Never raises.
  int (*blas)(int device, void *stream, void **handle);

  // Scratch memory on the op's device, freed (in stream order) after the launch; NULL when there is none left. The kernel
  // then returns FY_LAUNCH_NO_MEMORY, and the dispatcher raises.
  void *(*workspace)(struct FyLaunch *launch, size_t bytes);
  void *owner;
} FyLaunch;

#endif
