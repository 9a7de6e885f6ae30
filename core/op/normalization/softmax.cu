// SPDX-License-Identifier: MIT
// softmax and log_softmax on CUDA, and their gradients: each element is read twice and written once.
#include "op/normalization/softmax_cuda.cuh"

template <class T, bool LOG> struct Forward {
  typedef typename FyMath<T>::type X;
  typedef FyExpSum<X> State;
  enum { WRITES = 1 };
  T *y;
  const T *x;
  __device__ __forceinline__ State none() const {
    return fy_exp_sum_none<X>();
  }
  __device__ __forceinline__ void add(State *s, int64_t i) const {
    fy_exp_sum_add(s, fy_load(x + i));
  }
  __device__ __forceinline__ State combine(State a, State b) const {
    return fy_exp_sum_combine(a, b);
  }
  __device__ __forceinline__ State shuffle(State s, int lanes) const {
    return fy_exp_sum_shuffle(s, lanes);
  }
  // From here on `sum` is what write needs of it.
  __device__ __forceinline__ void finish(int64_t, State *s, bool) const {
    if (isinf(s->max)) // infinity minus itself
      s->sum = (X)NAN;
    s->sum = LOG ? (X)log(s->sum) : 1 / s->sum;
  }
  __device__ __forceinline__ void write(int64_t i, State s) const {
    const X shifted = fy_load(x + i) - s.max;
    fy_store(y + i, LOG ? shifted - s.sum : fy_exp(shifted) * s.sum);
  }
};

template <class T, bool LOG> struct Backward {
  typedef typename FyMath<T>::type X;
  typedef X State;
  enum { WRITES = 1 };
  T *out;
  const T *grad, *y;
  __device__ __forceinline__ X none() const {
    return 0;
  }
  __device__ __forceinline__ void add(X *sum, int64_t i) const {
    *sum += LOG ? fy_load(grad + i) : fy_load(grad + i) * fy_load(y + i);
  }
  __device__ __forceinline__ X combine(X a, X b) const {
    return a + b;
  }
  __device__ __forceinline__ X shuffle(X sum, int lanes) const {
    return __shfl_xor_sync(0xffffffffu, sum, lanes);
  }
  __device__ __forceinline__ void finish(int64_t, X *, bool) const {
  }
  __device__ __forceinline__ void write(int64_t i, X sum) const {
    const X g = fy_load(grad + i), value = fy_load(y + i);
    fy_store(out + i, LOG ? g - fy_exp(value) * sum : (g - sum) * value);
  }
};

template <bool LOG> static int forward(FyLaunch *l) {
  const FySoftmaxShape s = fy_softmax_shape(l->in[0], ((const FySoftmaxParams *)l->params)->dim);
  if (!l->in[0]->numel) // of any dtype
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, {
    const Forward<T, LOG> f = {(T *)l->out[0]->data, (const T *)l->in[0]->data};
    return fy_run_rows(l, f, s);
  });
}

template <bool LOG> static int backward(FyLaunch *l) {
  const FySoftmaxShape s = fy_softmax_shape(l->in[0], ((const FySoftmaxParams *)l->params)->dim);
  if (!l->in[0]->numel)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, {
    const Backward<T, LOG> f = {(T *)l->out[0]->data, (const T *)l->in[0]->data, (const T *)l->in[1]->data};
    return fy_run_rows(l, f, s);
  });
}

extern "C" int fy_cuda_softmax(FyLaunch *l) {
  return forward<false>(l);
}

extern "C" int fy_cuda_log_softmax(FyLaunch *l) {
  return forward<true>(l);
}

extern "C" int fy_cuda_softmax_backward(FyLaunch *l) {
  return backward<false>(l);
}

extern "C" int fy_cuda_log_softmax_backward(FyLaunch *l) {
  return backward<true>(l);
}
