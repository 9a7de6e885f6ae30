// SPDX-License-Identifier: MIT
// A gradient scaler's two ops on CUDA.
#include "op/kernel/cuda_common.cuh"
#include "op/optimizer/scale.h"

// Every thread that finds something writes the same.
template <class T> __global__ void unscale_kernel(T *grad, float *found_inf, const float *inv_scale, int64_t n) {
  typedef typename FyMath<T>::type X;
  const X factor = (X)*inv_scale;
  FY_GRID_STRIDE(i, n) {
    X g = fy_load(grad + i);
    if (!(g - g == (X)0)) // infinite, or NaN
      *found_inf = 1.0f;
    fy_store(grad + i, g * factor);
  }
}

extern "C" int fy_cuda_amp_non_finite_check_and_unscale(FyLaunch *l) {
  int64_t n = l->out[0]->numel;
  if (n == 0)
    return 0;
  FY_SWITCH_FLOATING(l->out[0]->dtype, T, {
    unscale_kernel<T><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)l->out[0]->data, (float *)l->in[1]->data,
                                                                      (const float *)l->in[2]->data, n);
  });
  return (int)cudaGetLastError();
}

static __global__ void update_scale_kernel(float *scale, int32_t *tracker, const float *found_inf, FyUpdateScale o) {
  fy_update_scale(scale, tracker, *found_inf, o);
}

extern "C" int fy_cuda_amp_update_scale(FyLaunch *l) {
  update_scale_kernel<<<1, 1, 0, fy_stream(l)>>>((float *)l->out[0]->data, (int32_t *)l->in[1]->data,
                                                 (const float *)l->in[2]->data, *(const FyUpdateScale *)l->params);
  return (int)cudaGetLastError();
}
