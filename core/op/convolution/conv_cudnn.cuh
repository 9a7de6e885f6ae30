// SPDX-License-Identifier: MIT
// Convolutions by cuDNN, as algorithms to choose from in benchmark mode. Compiled where cuDNN's header is, and found by its soname
// when it is first asked for; where either is missing there are none of these algorithms (FY_LAUNCH_NO_KERNEL).
//
// Each of cuDNN's own algorithms is one here. Those that add up with atomics, whose results differ from run to run, are left
// out, and float32 is multiplied as float32: no TF32. So every algorithm gives the same bits in every run.
#ifndef FERRY_OP_CONV_CUDNN_CUH
#define FERRY_OP_CONV_CUDNN_CUH

#include "op/convolution/conv.h"
#include "op/kernel/cuda_common.cuh"

#if !defined(FERRY_SIM) && __has_include(<cudnn.h>)
#include <cudnn.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

// ---- the library -------------------------------------------------------------------------------------------------------------

#define FY_CUDNN_FUNCTIONS(X)                                                                                          \
  X(cudnnCreate)                                                                                                       \
  X(cudnnDestroy)                                                                                                      \
  X(cudnnSetStream)                                                                                                    \
  X(cudnnCreateTensorDescriptor)                                                                                       \
  X(cudnnSetTensor4dDescriptor)                                                                                        \
  X(cudnnDestroyTensorDescriptor)                                                                                      \
  X(cudnnCreateFilterDescriptor)                                                                                       \
  X(cudnnSetFilter4dDescriptor)                                                                                        \
  X(cudnnDestroyFilterDescriptor)                                                                                      \
  X(cudnnCreateConvolutionDescriptor)                                                                                  \
  X(cudnnSetConvolution2dDescriptor)                                                                                   \
  X(cudnnSetConvolutionGroupCount)                                                                                     \
  X(cudnnSetConvolutionMathType)                                                                                       \
  X(cudnnDestroyConvolutionDescriptor)                                                                                 \
  X(cudnnGetConvolutionForwardWorkspaceSize)                                                                           \
  X(cudnnConvolutionForward)                                                                                           \
  X(cudnnGetConvolutionBackwardDataWorkspaceSize)                                                                      \
  X(cudnnConvolutionBackwardData)                                                                                      \
  X(cudnnGetConvolutionBackwardFilterWorkspaceSize)                                                                    \
  X(cudnnConvolutionBackwardFilter)

typedef struct FyCudnn {
  bool found;
#define FY_CUDNN_MEMBER(name) decltype(&::name) name;
  FY_CUDNN_FUNCTIONS(FY_CUDNN_MEMBER)
#undef FY_CUDNN_MEMBER
} FyCudnn;

static FyCudnn fy_cudnn_functions;

static void fy_cudnn_find(void) {
  char name[32];
  snprintf(name, sizeof name, "libcudnn.so.%d", CUDNN_MAJOR);
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  bool all = library != NULL;
#define FY_CUDNN_FIND(function)                                                                                        \
  if (all) {                                                                                                           \
    *(void **)&fy_cudnn_functions.function = dlsym(library, #function);                                                \
    all = fy_cudnn_functions.function != NULL;                                                                         \
  }
  FY_CUDNN_FUNCTIONS(FY_CUDNN_FIND)
#undef FY_CUDNN_FIND
  fy_cudnn_functions.found = all;
}

static const FyCudnn *fy_cudnn(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, fy_cudnn_find);
  return fy_cudnn_functions.found ? &fy_cudnn_functions : NULL;
}

// ---- handles: lent to a call at a time, since threads must not share one ---------------------------------------------------------

typedef struct FyCudnnHandle {
  struct FyCudnnHandle *next;
  int device;
  cudnnHandle_t handle;
} FyCudnnHandle;

static pthread_mutex_t fy_cudnn_lock = PTHREAD_MUTEX_INITIALIZER;
static FyCudnnHandle *fy_cudnn_free; // those that nobody uses now

static FyCudnnHandle *fy_cudnn_borrow(const FyCudnn *f, int device) {
  pthread_mutex_lock(&fy_cudnn_lock);
  FyCudnnHandle **at = &fy_cudnn_free;
  while (*at && (*at)->device != device)
    at = &(*at)->next;
  FyCudnnHandle *found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock(&fy_cudnn_lock);
  if (found)
    return found;
  found = (FyCudnnHandle *)calloc(1, sizeof *found);
  if (found && f->cudnnCreate(&found->handle) != CUDNN_STATUS_SUCCESS) {
    free(found);
    return NULL;
  }
  if (found)
    found->device = device;
  return found;
}

static void fy_cudnn_give_back(FyCudnnHandle *handle) {
  pthread_mutex_lock(&fy_cudnn_lock);
  handle->next = fy_cudnn_free;
  fy_cudnn_free = handle;
  pthread_mutex_unlock(&fy_cudnn_lock);
}

// ---- descriptions ----------------------------------------------------------------------------------------------------------------

typedef struct FyCudnnConv {
  const FyCudnn *f;
  cudnnTensorDescriptor_t x, y;
  cudnnFilterDescriptor_t weight;
  cudnnConvolutionDescriptor_t convolution;
  cudnnStatus_t status; // the first that failed
} FyCudnnConv;

static bool fy_cudnn_type(int dtype, cudnnDataType_t *type, cudnnDataType_t *sums, cudnnMathType_t *math) {
  *sums = dtype == FY_FLOAT64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  *math = dtype == FY_FLOAT16 || dtype == FY_BFLOAT16 ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
  switch (dtype) {
  case FY_FLOAT32:
    *type = CUDNN_DATA_FLOAT;
    return true;
  case FY_FLOAT64:
    *type = CUDNN_DATA_DOUBLE;
    return true;
  case FY_FLOAT16:
    *type = CUDNN_DATA_HALF;
    return true;
  case FY_BFLOAT16:
    *type = CUDNN_DATA_BFLOAT16;
    return true;
  default:
    return false;
  }
}

static void fy_cudnn_try(FyCudnnConv *c, cudnnStatus_t status) {
  c->status = c->status == CUDNN_STATUS_SUCCESS ? status : c->status;
}

static void fy_cudnn_describe(FyCudnnConv *c, const FyConvShape *s, int dtype) {
  cudnnDataType_t type, sums;
  cudnnMathType_t math;
  const FyCudnn *f = c->f;
  if (!fy_cudnn_type(dtype, &type, &sums, &math)) {
    c->status = CUDNN_STATUS_NOT_SUPPORTED;
    return;
  }
  fy_cudnn_try(c, f->cudnnCreateTensorDescriptor(&c->x));
  fy_cudnn_try(c, f->cudnnCreateTensorDescriptor(&c->y));
  fy_cudnn_try(c, f->cudnnCreateFilterDescriptor(&c->weight));
  fy_cudnn_try(c, f->cudnnCreateConvolutionDescriptor(&c->convolution));
  if (c->status != CUDNN_STATUS_SUCCESS)
    return;
  const int pad = (int)s->padding, stride = (int)s->stride, dilation = (int)s->dilation;
  fy_cudnn_try(
      c, f->cudnnSetTensor4dDescriptor(c->x, CUDNN_TENSOR_NCHW, type, (int)s->n, (int)s->c, (int)s->h, (int)s->w));
  fy_cudnn_try(
      c, f->cudnnSetTensor4dDescriptor(c->y, CUDNN_TENSOR_NCHW, type, (int)s->n, (int)s->o, (int)s->oh, (int)s->ow));
  fy_cudnn_try(c, f->cudnnSetFilter4dDescriptor(c->weight, type, CUDNN_TENSOR_NCHW, (int)s->o, (int)(s->c / s->groups),
                                                (int)s->kh, (int)s->kw));
  fy_cudnn_try(c, f->cudnnSetConvolution2dDescriptor(c->convolution, pad, pad, stride, stride, dilation, dilation,
                                                     CUDNN_CROSS_CORRELATION, sums));
  fy_cudnn_try(c, f->cudnnSetConvolutionGroupCount(c->convolution, (int)s->groups));
  fy_cudnn_try(c, f->cudnnSetConvolutionMathType(c->convolution, math));
}

static void fy_cudnn_forget(const FyCudnnConv *c) {
  if (c->x)
    c->f->cudnnDestroyTensorDescriptor(c->x);
  if (c->y)
    c->f->cudnnDestroyTensorDescriptor(c->y);
  if (c->weight)
    c->f->cudnnDestroyFilterDescriptor(c->weight);
  if (c->convolution)
    c->f->cudnnDestroyConvolutionDescriptor(c->convolution);
}

// ---- running -----------------------------------------------------------------------------------------------------------------------

typedef struct FyCudnnArrays {
  void *x, *weight, *y; // the one that the pass writes, too
  bool add;             // forward: to what is in y, the bias
} FyCudnnArrays;

enum FyCudnnPass { FY_CUDNN_FORWARD, FY_CUDNN_BACKWARD_INPUT, FY_CUDNN_BACKWARD_WEIGHT };

static bool fy_cudnn_repeats(FyCudnnPass pass, int algo) {
  return pass == FY_CUDNN_FORWARD ? algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT
         : pass == FY_CUDNN_BACKWARD_INPUT
             ? algo != CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 && algo < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT
             : algo != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 && algo != CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 &&
                   algo < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
}

static size_t fy_cudnn_workspace(FyCudnnConv *c, cudnnHandle_t handle, FyCudnnPass pass, int algo) {
  size_t bytes = 0;
  const FyCudnn *f = c->f;
  if (pass == FY_CUDNN_FORWARD)
    fy_cudnn_try(c, f->cudnnGetConvolutionForwardWorkspaceSize(handle, c->x, c->weight, c->convolution, c->y,
                                                               (cudnnConvolutionFwdAlgo_t)algo, &bytes));
  else if (pass == FY_CUDNN_BACKWARD_INPUT)
    fy_cudnn_try(c, f->cudnnGetConvolutionBackwardDataWorkspaceSize(handle, c->weight, c->y, c->convolution, c->x,
                                                                    (cudnnConvolutionBwdDataAlgo_t)algo, &bytes));
  else
    fy_cudnn_try(c, f->cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, c->x, c->y, c->convolution, c->weight,
                                                                      (cudnnConvolutionBwdFilterAlgo_t)algo, &bytes));
  return bytes;
}

static void fy_cudnn_execute(FyCudnnConv *c, cudnnHandle_t handle, FyCudnnPass pass, int algo, const FyCudnnArrays *a,
                             bool doubles, void *work, size_t bytes) {
  // Factors are of the type that sums are in.
  const double ones = 1, adds = a->add;
  const float one = 1, add = a->add;
  const void *alpha = doubles ? (const void *)&ones : &one, *beta = doubles ? (const void *)&adds : &add;
  const FyCudnn *f = c->f;
  if (pass == FY_CUDNN_FORWARD)
    fy_cudnn_try(c, f->cudnnConvolutionForward(handle, alpha, c->x, a->x, c->weight, a->weight, c->convolution,
                                               (cudnnConvolutionFwdAlgo_t)algo, work, bytes, beta, c->y, a->y));
  else if (pass == FY_CUDNN_BACKWARD_INPUT)
    fy_cudnn_try(c,
                 f->cudnnConvolutionBackwardData(handle, alpha, c->weight, a->weight, c->y, a->y, c->convolution,
                                                 (cudnnConvolutionBwdDataAlgo_t)algo, work, bytes, beta, c->x, a->x));
  else
    fy_cudnn_try(c, f->cudnnConvolutionBackwardFilter(handle, alpha, c->x, a->x, c->y, a->y, c->convolution,
                                                      (cudnnConvolutionBwdFilterAlgo_t)algo, work, bytes, beta,
                                                      c->weight, a->weight));
}

static bool fy_cudnn_fits(const FyConvShape *s) {
  const int64_t most = INT32_MAX;
  return s->n * s->c * s->h * s->w <= most && s->n * s->o * s->oh * s->ow <= most &&
         s->o * s->c * s->kh * s->kw <= most;
}

// Returns what a kernel returns.
static int fy_cudnn_conv(FyLaunch *l, FyCudnnPass pass, int algo, const FyConvShape *s, int dtype,
                         const FyCudnnArrays *arrays) {
  const FyCudnn *f = fy_cudnn();
  if (!f || !fy_cudnn_repeats(pass, algo) || !fy_cudnn_fits(s))
    return FY_LAUNCH_NO_KERNEL;
  FyCudnnHandle *lent = fy_cudnn_borrow(f, l->device);
  if (!lent)
    return FY_LAUNCH_NO_MEMORY;
  FyCudnnConv c = {f, NULL, NULL, NULL, NULL, CUDNN_STATUS_SUCCESS};
  int result = FY_LAUNCH_OK;
  fy_cudnn_try(&c, f->cudnnSetStream(lent->handle, fy_stream(l)));
  fy_cudnn_describe(&c, s, dtype);
  const size_t bytes = c.status == CUDNN_STATUS_SUCCESS ? fy_cudnn_workspace(&c, lent->handle, pass, algo) : 0;
  if (c.status == CUDNN_STATUS_SUCCESS) {
    void *work = bytes ? l->workspace(l, bytes) : NULL;
    if (bytes && !work)
      result = FY_LAUNCH_NO_MEMORY;
    else
      fy_cudnn_execute(&c, lent->handle, pass, algo, arrays, dtype == FY_FLOAT64, work, bytes);
  }
  fy_cudnn_forget(&c);
  fy_cudnn_give_back(lent);
  if (c.status != CUDNN_STATUS_SUCCESS)
    result = FY_LAUNCH_NO_KERNEL; // not for this convolution
  return result == FY_LAUNCH_OK ? (int)cudaGetLastError() : result;
}

#else

typedef struct FyCudnnArrays {
  void *x, *weight, *y;
  bool add;
} FyCudnnArrays;

enum FyCudnnPass { FY_CUDNN_FORWARD, FY_CUDNN_BACKWARD_INPUT, FY_CUDNN_BACKWARD_WEIGHT };

static int fy_cudnn_conv(FyLaunch *, FyCudnnPass, int, const FyConvShape *, int, const FyCudnnArrays *) {
  return FY_LAUNCH_NO_KERNEL;
}

#endif
#endif
