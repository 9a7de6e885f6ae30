// SPDX-License-Identifier: MIT
// arange, linspace and eye on CUDA.
#include "op/kernel/cuda_common.cuh"
#include "op/creation/sequence.h"

enum Sequence { ARANGE, ARANGE_INTEGER, LINSPACE };

template <class T> __global__ void sequence_kernel(T *out, FySequence s, int kind, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    if (kind == ARANGE_INTEGER)
      fy_store(out + i, fy_arange_integer_at(&s, i));
    else
      fy_store(out + i, kind == ARANGE ? fy_arange_at(&s, i) : fy_linspace_at(&s, i));
  }
}

static int sequence(FyLaunch *l, int kind) {
  const FyArray *out = l->out[0];
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_ALL(out->dtype, T, {
    sequence_kernel<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>(
        (T *)out->data, *(const FySequence *)l->params, kind, out->numel);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_arange(FyLaunch *l) {
  const int dtype = l->out[0]->dtype;
  const bool integer = dtype == FY_INT64 || dtype == FY_INT32 || dtype == FY_UINT8 || dtype == FY_BOOL;
  return sequence(l, integer ? ARANGE_INTEGER : ARANGE);
}

extern "C" int fy_cuda_linspace(FyLaunch *l) {
  return sequence(l, LINSPACE);
}

template <class T> __global__ void eye_kernel(T *out, int64_t columns, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    fy_store(out + i, i % (columns + 1) == 0 ? 1 : 0);
  }
}

extern "C" int fy_cuda_eye(FyLaunch *l) {
  const FyArray *out = l->out[0];
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_ALL(out->dtype, T, {
    eye_kernel<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, out->shape[1], out->numel);
  });
  return (int)cudaGetLastError();
}
