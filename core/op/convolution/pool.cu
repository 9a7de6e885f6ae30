// SPDX-License-Identifier: MIT
// F.max_pool2d and F.avg_pool2d on CUDA. Gradients are gathered: a thread sums what its pixel gets, without atomics.
#include "op/kernel/cuda_common.cuh"
#include "op/convolution/pool.h"

// The window of output (y, x): rows [top, bottom) and columns [left, right) of the plane.
typedef struct Window {
  int top, bottom, left, right;
} Window;

FY_DEVICE Window window_of(const FyPoolShape &s, int64_t position) {
  const int y = (int)(position / s.ow) * s.stride - s.padding, x = (int)(position % s.ow) * s.stride - s.padding;
  Window w;
  w.top = y > 0 ? y : 0;
  w.left = x > 0 ? x : 0;
  w.bottom = y + s.kernel < (int)s.h ? y + s.kernel : (int)s.h;
  w.right = x + s.kernel < (int)s.w ? x + s.kernel : (int)s.w;
  return w;
}

// Outputs whose windows contain the pixel: rows [top, bottom) and columns [left, right) of the output.
FY_DEVICE Window outputs_of(const FyPoolShape &s, int row, int column) {
  const int y = row + s.padding, x = column + s.padding;
  Window w;
  w.top = y < s.kernel ? 0 : (y - s.kernel) / s.stride + 1;
  w.left = x < s.kernel ? 0 : (x - s.kernel) / s.stride + 1;
  w.bottom = y / s.stride + 1 < (int)s.oh ? y / s.stride + 1 : (int)s.oh;
  w.right = x / s.stride + 1 < (int)s.ow ? x / s.stride + 1 : (int)s.ow;
  return w;
}

template <class T, class Tap> __global__ void max_pool2d(T *out, Tap *taps, const T *in, FyPoolShape s, int64_t n) {
  const int64_t area = s.oh * s.ow;
  FY_GRID_STRIDE(i, n) {
    const int64_t position = i % area;
    const T *plane = in + i / area * s.h * s.w;
    const Window w = window_of(s, position);
    const int y = (int)(position / s.ow) * s.stride - s.padding, x = (int)(position % s.ow) * s.stride - s.padding;
    typename FyMath<T>::type best = -INFINITY;
    int tap = (w.top - y) * s.kernel + w.left - x;
    for (int r = w.top; r < w.bottom; r++)
      for (int c = w.left; c < w.right; c++) {
        const typename FyMath<T>::type value = fy_load(plane + (int64_t)r * s.w + c);
        if (value > best || value != value) {
          best = value;
          tap = (r - y) * s.kernel + c - x;
        }
      }
    fy_store(out + i, best);
    taps[i] = (Tap)tap;
  }
}

template <class T, class Tap>
__global__ void max_pool2d_backward(T *out, const T *grad, const Tap *taps, FyPoolShape s, int64_t n) {
  const int64_t pixels = s.h * s.w, area = s.oh * s.ow;
  FY_GRID_STRIDE(i, n) {
    const int row = (int)(i % pixels / s.w), column = (int)(i % s.w);
    const int64_t plane = i / pixels * area;
    const Window w = outputs_of(s, row, column);
    typename FyMath<T>::type sum = 0;
    for (int y = w.top; y < w.bottom; y++)
      for (int x = w.left; x < w.right; x++) {
        const int64_t o = plane + (int64_t)y * s.ow + x;
        const int tap = (row + s.padding - y * s.stride) * s.kernel + column + s.padding - x * s.stride;
        if ((int)taps[o] == tap)
          sum += fy_load(grad + o);
      }
    fy_store(out + i, sum);
  }
}

template <class T> __global__ void avg_pool2d(T *out, const T *in, FyPoolShape s, int64_t n) {
  const int64_t area = s.oh * s.ow;
  FY_GRID_STRIDE(i, n) {
    const T *plane = in + i / area * s.h * s.w;
    const Window w = window_of(s, i % area);
    typename FyMath<T>::type sum = 0;
    for (int r = w.top; r < w.bottom; r++)
      for (int c = w.left; c < w.right; c++)
        sum += fy_load(plane + (int64_t)r * s.w + c);
    fy_store(out + i, sum / (typename FyMath<T>::type)(s.kernel * s.kernel));
  }
}

template <class T> __global__ void avg_pool2d_backward(T *out, const T *grad, FyPoolShape s, int64_t n) {
  const int64_t pixels = s.h * s.w, area = s.oh * s.ow;
  FY_GRID_STRIDE(i, n) {
    const Window w = outputs_of(s, (int)(i % pixels / s.w), (int)(i % s.w));
    const T *plane = grad + i / pixels * area;
    typename FyMath<T>::type sum = 0;
    for (int y = w.top; y < w.bottom; y++)
      for (int x = w.left; x < w.right; x++)
        sum += fy_load(plane + (int64_t)y * s.ow + x);
    fy_store(out + i, sum / (typename FyMath<T>::type)(s.kernel * s.kernel));
  }
}

extern "C" int fy_cuda_max_pool2d(FyLaunch *l) {
  const FyArray *x = l->in[0];
  FyArray *out = l->out[0], *taps = l->out[1];
  const FyPoolShape s = fy_pool_shape((const FyPool2dParams *)l->params, x->ndim, x->shape);
  const int64_t n = out->numel;
  if (n == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(x->dtype, T, {
    if (taps->dtype == FY_UINT8)
      max_pool2d<T, uint8_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (uint8_t *)taps->data,
                                                                             (const T *)x->data, s, n);
    else
      max_pool2d<T, int32_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (int32_t *)taps->data,
                                                                             (const T *)x->data, s, n);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_max_pool2d_backward(FyLaunch *l) {
  const FyArray *grad = l->in[0], *taps = l->in[1];
  FyArray *out = l->out[0];
  const FyPoolShape s = fy_pool_shape((const FyPool2dParams *)l->params, out->ndim, out->shape);
  const int64_t n = out->numel;
  if (n == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(out->dtype, T, {
    if (taps->dtype == FY_UINT8)
      max_pool2d_backward<T, uint8_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(
          (T *)out->data, (const T *)grad->data, (const uint8_t *)taps->data, s, n);
    else
      max_pool2d_backward<T, int32_t><<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(
          (T *)out->data, (const T *)grad->data, (const int32_t *)taps->data, s, n);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_avg_pool2d(FyLaunch *l) {
  const FyArray *x = l->in[0];
  FyArray *out = l->out[0];
  const FyPoolShape s = fy_pool_shape((const FyPool2dParams *)l->params, x->ndim, x->shape);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(x->dtype, T, {
    avg_pool2d<T>
        <<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (const T *)x->data, s, out->numel);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_avg_pool2d_backward(FyLaunch *l) {
  const FyArray *grad = l->in[0];
  FyArray *out = l->out[0];
  const FyPoolShape s = fy_pool_shape((const FyPool2dParams *)l->params, out->ndim, out->shape);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(out->dtype, T, {
    avg_pool2d_backward<T>
        <<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (const T *)grad->data, s, out->numel);
  });
  return (int)cudaGetLastError();
}
