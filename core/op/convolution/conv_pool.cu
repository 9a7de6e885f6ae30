// SPDX-License-Identifier: MIT
// Convolution, ReLU and max pooling in one on CUDA: the convolution goes to scratch memory, from where one kernel cuts off at
// zero and pools. Backward spreads the gradient into scratch memory by the taps and leaves the rest to the convolution's.
#include "op/convolution/conv_pool.h"
#include "op/reduction/reduce_cuda.cuh"

extern "C" int fy_cuda_conv2d(FyLaunch *l);
extern "C" int fy_cuda_conv2d_backward_input(FyLaunch *l);
extern "C" int fy_cuda_conv2d_backward_weight(FyLaunch *l);

// A thread per pooled value. A NaN wins, goes through, and so does its gradient.
template <class T> __global__ void relu_max_pool(T *out, uint8_t *taps, const T *conv, FyConvPoolShape s, int64_t n) {
  const int window = (int)s.window;
  FY_GRID_STRIDE(i, n) {
    const int64_t x = i % s.pw, y = i / s.pw % s.ph, plane = i / s.pw / s.ph;
    const T *top = conv + (plane * s.conv.oh + y * window) * s.conv.ow + x * window;
    typename FyMath<T>::type best = fy_load(top);
    int tap = 0;
    for (int r = 0; r < window; r++)
      for (int c = r == 0; c < window; c++) {
        const typename FyMath<T>::type value = fy_load(top + (int64_t)r * s.conv.ow + c);
        if (value > best || value != value) {
          best = value;
          tap = r * window + c;
        }
      }
    const bool cut = best <= 0;
    fy_store(out + i, cut ? (typename FyMath<T>::type)0 : best);
    taps[i] = (uint8_t)(cut ? (int)FY_TAP_NONE : tap);
  }
}

// conv (n, o, oh, ow): a thread per element.
template <class T> __global__ void spread(T *conv, const T *grad, const uint8_t *taps, FyConvPoolShape s, int64_t n) {
  const int window = (int)s.window;
  FY_GRID_STRIDE(i, n) {
    const int column = (int)(i % s.conv.ow), row = (int)(i / s.conv.ow % s.conv.oh);
    const int x = column / window, y = row / window, tap = row % window * window + column % window;
    const int64_t from = (i / s.conv.ow / s.conv.oh * s.ph + y) * s.pw + x;
    const bool inside = x < (int)s.pw && y < (int)s.ph;
    fy_store(conv + i, inside && taps[from] == tap ? fy_load(grad + from) : (typename FyMath<T>::type)0);
  }
}

// The terms of a channel's bias gradient: what ReLU let through.
template <class T> struct BiasSource {
  typedef typename FyMath<T>::type Acc;
  const T *grad;
  const uint8_t *taps;
  int64_t channels, area;
  __device__ __forceinline__ int64_t base(int64_t channel) const {
    return channel * area;
  }
  __device__ __forceinline__ Acc term(int64_t base, int64_t r) const {
    const int64_t i = base + r / area * channels * area + r % area;
    return taps[i] == FY_TAP_NONE ? (Acc)0 : (Acc)fy_load(grad + i);
  }
};

template <class T> struct BiasSink {
  T *bias;
  __device__ __forceinline__ void put(int64_t i, typename FyMath<T>::type sum) const {
    fy_store(bias + i, sum);
  }
};

static FyArray convolution_output(const FyConvPoolShape *s, const FyArray *like) {
  FyArray a = *like;
  a.ndim = 4;
  a.shape[0] = s->conv.n;
  a.shape[1] = s->conv.o;
  a.shape[2] = s->conv.oh;
  a.shape[3] = s->conv.ow;
  a.numel = s->conv.n * s->conv.o * s->conv.oh * s->conv.ow;
  a.contiguous = true;
  return a;
}

extern "C" int fy_cuda_conv2d_relu_max_pool2d(FyLaunch *l) {
  const FyConvPoolParams *p = (const FyConvPoolParams *)l->params;
  const FyConvPoolShape s = fy_conv_pool_shape(p, l->in[0]->shape, l->in[1]->shape);
  FyArray *out = l->out[0], conv = convolution_output(&s, out);
  conv.data = l->workspace(l, (size_t)conv.numel * fy_dtype_size(conv.dtype));
  if (!conv.data)
    return FY_LAUNCH_NO_MEMORY;
  FyLaunch inner = *l;
  inner.params = &p->conv;
  inner.out[0] = &conv;
  const int status = fy_cuda_conv2d(&inner);
  if (status != FY_LAUNCH_OK)
    return status;
  FY_SWITCH_FLOATING(out->dtype, T, {
    relu_max_pool<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>(
        (T *)out->data, (uint8_t *)l->out[1]->data, (const T *)conv.data, s, out->numel);
  });
  return (int)cudaGetLastError();
}

// The convolution's own backward, of grad (as its output) and `other`, into out[index].
static int run_inner(FyLaunch *l, const FyArray *conv, int other, int index, FyKernel *kernel) {
  FyLaunch inner = *l;
  inner.params = &((const FyConvPoolParams *)l->params)->conv;
  inner.in[0] = conv;
  inner.in[1] = l->in[other];
  inner.out[0] = l->out[index];
  return kernel(&inner);
}

extern "C" int fy_cuda_conv2d_relu_max_pool2d_backward(FyLaunch *l) {
  const FyArray *grad = l->in[0], *taps = l->in[1];
  const FyConvPoolShape s = fy_conv_pool_shape((const FyConvPoolParams *)l->params, l->in[2]->shape, l->in[3]->shape);
  FyArray conv = convolution_output(&s, grad);
  int status = FY_LAUNCH_OK;
  if (l->out[0] || l->out[1]) {
    conv.data = l->workspace(l, (size_t)conv.numel * fy_dtype_size(conv.dtype));
    if (!conv.data)
      return FY_LAUNCH_NO_MEMORY;
    FY_SWITCH_FLOATING(grad->dtype, T, {
      spread<T><<<fy_blocks(l, conv.numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)conv.data, (const T *)grad->data,
                                                                         (const uint8_t *)taps->data, s, conv.numel);
    });
  }
  if (l->out[0])
    status = run_inner(l, &conv, 3, 0, fy_cuda_conv2d_backward_input);
  if (status == FY_LAUNCH_OK && l->out[1])
    status = run_inner(l, &conv, 2, 1, fy_cuda_conv2d_backward_weight);
  if (status != FY_LAUNCH_OK || !l->out[2])
    return status != FY_LAUNCH_OK ? status : (int)cudaGetLastError();
  const int64_t area = s.ph * s.pw;
  FY_SWITCH_FLOATING(grad->dtype, T, {
    const BiasSource<T> source = {(const T *)grad->data, (const uint8_t *)taps->data, s.conv.o, area};
    const BiasSink<T> sink = {(T *)l->out[2]->data};
    return fy_reduce(l, FySumOp<typename FyMath<T>::type>(), source, sink, s.conv.o, s.conv.n * area, false);
  });
  return (int)cudaGetLastError();
}
