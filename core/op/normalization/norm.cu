// SPDX-License-Identifier: MIT
// F.batch_norm on CUDA: a block per channel for sums, a thread per element for the rest.
#include "op/kernel/cuda_common.cuh"
#include "op/normalization/norm.h"

// A thread's walk over the values of its block's channel: value i of the channel lies at `at`.
typedef struct ChannelWalk {
  int64_t image, place; // of the next value
  int64_t images_on, places_on;
} ChannelWalk;

FY_DEVICE ChannelWalk channel_walk(const FyNormShape &s) {
  ChannelWalk w;
  w.image = threadIdx.x / s.area;
  w.place = threadIdx.x % s.area;
  w.images_on = blockDim.x / s.area;
  w.places_on = blockDim.x % s.area;
  return w;
}

// Steps blockDim.x values on without a division.
FY_DEVICE void channel_next(const FyNormShape &s, ChannelWalk *w) {
  w->image += w->images_on;
  w->place += w->places_on;
  if (w->place >= s.area) {
    w->place -= s.area;
    w->image++;
  }
}

FY_DEVICE int64_t channel_at(const FyNormShape &s, const ChannelWalk &w, int64_t channel) {
  return (w.image * s.channels + channel) * s.area + w.place;
}

// mean and invstd of a channel, in two passes over the batch; the running statistics follow where they are given.
template <class T, class X>
__global__ void batch_statistics(const T *x, X *mean_out, X *invstd_out, X *running_mean, X *running_var, FyNormShape s,
                                 double momentum, double eps) {
  const X n = (X)(s.images * s.area);
  for (int64_t c = blockIdx.x; c < s.channels; c += gridDim.x) {
    X sum = 0;
    for (ChannelWalk w = channel_walk(s); w.image < s.images; channel_next(s, &w))
      sum += fy_load(x + channel_at(s, w, c));
    const X mean = fy_block_sum(sum) / n;
    sum = 0;
    for (ChannelWalk w = channel_walk(s); w.image < s.images; channel_next(s, &w)) {
      const X distance = fy_load(x + channel_at(s, w, c)) - mean;
      sum += distance * distance;
    }
    const X squares = fy_block_sum(sum);
    if (threadIdx.x != 0)
      continue;
    mean_out[c] = mean;
    invstd_out[c] = (X)1 / sqrt(squares / n + (X)eps);
    if (running_mean)
      running_mean[c] = (X)(1 - momentum) * running_mean[c] + (X)momentum * mean;
    if (running_var)
      running_var[c] = (X)(1 - momentum) * running_var[c] + (X)momentum * (squares / (n - 1));
  }
}

template <class X>
__global__ void running_statistics(const X *running_mean, const X *running_var, X *mean, X *invstd, int64_t channels,
                                   double eps) {
  FY_GRID_STRIDE(c, channels) {
    mean[c] = running_mean[c];
    invstd[c] = (X)1 / sqrt(running_var[c] + (X)eps);
  }
}

// I is the type of indices: 32 bits where they suffice, for their cheaper division.
template <class T, class X, class I>
__global__ void normalize(T *out, const T *x, const X *mean, const X *invstd, const X *weight, const X *bias,
                          FyNormShape s, int64_t n) {
  const I area = (I)s.area, channels = (I)s.channels;
  FY_GRID_STRIDE(i, n) {
    const I c = (I)i / area % channels;
    const X scale = invstd[c] * (weight ? weight[c] : (X)1);
    fy_store(out + i, (fy_load(x + i) - mean[c]) * scale + (bias ? bias[c] : (X)0));
  }
}

// grad_weight = sum of grad * xhat and grad_bias = sum of grad, over the channel.
template <class T, class X>
__global__ void parameter_gradients(const T *grad, const T *x, const X *mean, const X *invstd, X *grad_weight,
                                    X *grad_bias, FyNormShape s) {
  for (int64_t c = blockIdx.x; c < s.channels; c += gridDim.x) {
    const X center = mean[c];
    X sum = 0, product = 0;
    for (ChannelWalk w = channel_walk(s); w.image < s.images; channel_next(s, &w)) {
      const int64_t i = channel_at(s, w, c);
      const X g = fy_load(grad + i);
      sum += g;
      product += g * (fy_load(x + i) - center);
    }
    sum = fy_block_sum(sum);
    product = fy_block_sum(product);
    if (threadIdx.x == 0) {
      grad_bias[c] = sum;
      grad_weight[c] = product * invstd[c];
    }
  }
}

// With the batch's statistics the gradient loses its mean and its part along xhat; with running ones it is only scaled.
template <class T, class X, class I>
__global__ void input_gradient(T *out, const T *grad, const T *x, const X *mean, const X *invstd, const X *weight,
                               const X *grad_weight, const X *grad_bias, FyNormShape s, bool training, int64_t n) {
  const I area = (I)s.area, channels = (I)s.channels;
  const X share = (X)1 / (X)(s.images * s.area);
  FY_GRID_STRIDE(i, n) {
    const I c = (I)i / area % channels;
    X g = fy_load(grad + i);
    if (training)
      g -= (grad_bias[c] + (fy_load(x + i) - mean[c]) * invstd[c] * grad_weight[c]) * share;
    fy_store(out + i, g * invstd[c] * (weight ? weight[c] : (X)1));
  }
}

static unsigned channel_blocks(const FyNormShape *s) {
  return (unsigned)(s->channels < 65535 ? s->channels : 65535);
}

extern "C" int fy_cuda_batch_norm(FyLaunch *l) {
  const FyBatchNormParams *p = (const FyBatchNormParams *)l->params;
  const FyArray *x = l->in[FY_NORM_X];
  const FyNormShape s = fy_norm_shape(x);
  const int64_t n = x->numel;
  cudaStream_t stream = fy_stream(l);
  if (n == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(x->dtype, T, {
    typedef typename FyMath<T>::type X;
    const T *in = (const T *)x->data;
    T *out = (T *)l->out[FY_NORM_OUT]->data;
    X *mean = (X *)fy_array_data(l->out[FY_NORM_MEAN]);
    X *invstd = (X *)fy_array_data(l->out[FY_NORM_INVSTD]);
    X *running_mean = (X *)fy_array_data(l->in[FY_NORM_RUNNING_MEAN]);
    X *running_var = (X *)fy_array_data(l->in[FY_NORM_RUNNING_VAR]);
    const X *weight = (X *)fy_array_data(l->in[FY_NORM_WEIGHT]);
    const X *bias = (X *)fy_array_data(l->in[FY_NORM_BIAS]);
    if (p->training)
      batch_statistics<T, X><<<channel_blocks(&s), FY_BLOCK, 0, stream>>>(in, mean, invstd, running_mean, running_var,
                                                                          s, p->momentum, p->eps);
    else
      running_statistics<X><<<fy_blocks(l, s.channels), FY_BLOCK, 0, stream>>>(running_mean, running_var, mean, invstd,
                                                                               s.channels, p->eps);
    if (n <= INT32_MAX)
      normalize<T, X, uint32_t><<<fy_blocks(l, n), FY_BLOCK, 0, stream>>>(out, in, mean, invstd, weight, bias, s, n);
    else
      normalize<T, X, int64_t><<<fy_blocks(l, n), FY_BLOCK, 0, stream>>>(out, in, mean, invstd, weight, bias, s, n);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_batch_norm_backward(FyLaunch *l) {
  const FyBatchNormParams *p = (const FyBatchNormParams *)l->params;
  const FyArray *x = l->in[FY_NORM_GRAD_X];
  const FyNormShape s = fy_norm_shape(x);
  const int64_t n = x->numel;
  cudaStream_t stream = fy_stream(l);
  if (n == 0)
    return fy_clear_outputs(l, 1, 3);
  FY_SWITCH_FLOATING(x->dtype, T, {
    typedef typename FyMath<T>::type X;
    const T *in = (const T *)x->data;
    const T *grad = (const T *)l->in[FY_NORM_GRAD]->data;
    const X *mean = (X *)fy_array_data(l->in[FY_NORM_GRAD_MEAN]);
    const X *invstd = (X *)fy_array_data(l->in[FY_NORM_GRAD_INVSTD]);
    const X *weight = (X *)fy_array_data(l->in[FY_NORM_GRAD_WEIGHT]);
    T *out = (T *)l->out[0]->data;
    X *grad_weight = (X *)fy_array_data(l->out[1]);
    X *grad_bias = (X *)fy_array_data(l->out[2]);
    const bool training = p->training != 0;
    parameter_gradients<T, X>
        <<<channel_blocks(&s), FY_BLOCK, 0, stream>>>(grad, in, mean, invstd, grad_weight, grad_bias, s);
    if (n <= INT32_MAX)
      input_gradient<T, X, uint32_t><<<fy_blocks(l, n), FY_BLOCK, 0, stream>>>(out, grad, in, mean, invstd, weight,
                                                                               grad_weight, grad_bias, s, training, n);
    else
      input_gradient<T, X, int64_t><<<fy_blocks(l, n), FY_BLOCK, 0, stream>>>(out, grad, in, mean, invstd, weight,
                                                                              grad_weight, grad_bias, s, training, n);
  });
  return (int)cudaGetLastError();
}
