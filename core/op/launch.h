// FyLaunch: one execution of a kernel, as the kernel sees it. Plain C, shared with the CUDA sources.
//
// CPU kernels are `int fy_cpu_<op>(FyLaunch *)`, CUDA ones `int fy_cuda_<op>(FyLaunch *)`. Inputs and outputs are
// described by FyArray; the dispatcher has checked shapes and dtypes, allocated the outputs and made the device current.
// A kernel returns 0, or an error code of its runtime (cudaError_t; FY_LAUNCH_... below), and never raises.
#ifndef FERRY_OP_LAUNCH_H
#define FERRY_OP_LAUNCH_H

#include "tensor/array.h"

enum { FY_MAX_INPUTS = 8, FY_MAX_OUTPUTS = 4 };

enum {
  FY_LAUNCH_OK = 0,
  FY_LAUNCH_NO_MEMORY = -1, // `workspace` returned NULL
  FY_LAUNCH_NO_KERNEL = -2, // no kernel for this dtype: the dispatcher raises '"op" not implemented for 'Half''
  FY_LAUNCH_BLAS = -1000,   // minus a cublasStatus_t below this
  FY_LAUNCH_DNN = -2000,    // minus a dnnl_status_t below this
};

typedef struct FyLaunch {
  const FyArray *in[FY_MAX_INPUTS]; // NULL for an optional input not given
  FyArray *out[FY_MAX_OUTPUTS];
  int n_in, n_out;
  const void *params; // the op's own struct

  // CUDA only.
  int device;
  int multi_processors;
  void *stream; // cudaStream_t
  void *blas;   // cublasHandle_t, already set to the stream

  // Scratch memory on the op's device, freed (in stream order) after the launch; NULL when there is none left. The kernel
  // then returns FY_LAUNCH_NO_MEMORY, and the dispatcher raises.
  void *(*workspace)(struct FyLaunch *launch, size_t bytes);
  void *owner;
} FyLaunch;

typedef int FyKernel(FyLaunch *launch);

#endif
