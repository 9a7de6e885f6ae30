// SPDX-License-Identifier: MIT
// max, min, argmax and argmin on CUDA: each reduction carries the value and its first index.
#include "op/reduction/reduce.h"
#include "op/reduction/reduce_cuda.cuh"

template <class X> struct Found {
  X value;
  int64_t index; // -1: nothing yet
};

// NaN is beyond everything; among equals the first wins.
template <class X, bool MAX> struct ExtremumOp {
  typedef Found<X> Acc;
  __device__ __forceinline__ Acc init() const {
    Acc none = {(X)0, -1};
    return none;
  }
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
    const bool beyond = MAX ? b.value > a.value : b.value < a.value;
    const bool equal = (a_nan && b_nan) || a.value == b.value;
    const bool take = (!a_nan && (b_nan || beyond)) || (equal && b.index < a.index);
    return a.index < 0 || (b.index >= 0 && take) ? b : a;
  }
  __device__ __forceinline__ Acc shuffle(Acc a, int lanes) const {
    a.value = (X)__shfl_xor_sync(0xffffffffu, a.value, lanes);
    a.index = __shfl_xor_sync(0xffffffffu, a.index, lanes);
    return a;
  }
};

// Input (outer, n, inner), row-major.
template <class T> struct RowSource {
  typedef typename FyMath<T>::type X;
  const T *in;
  int64_t n, inner;
  __device__ __forceinline__ int64_t base(int64_t output) const {
    const int64_t outer = inner > 1 ? output / inner : output;
    return outer * n * inner + (output - outer * inner);
  }
  __device__ __forceinline__ Found<X> term(int64_t base, int64_t r) const {
    Found<X> found = {fy_load(in + base + r * inner), r};
    return found;
  }
};

template <class T> struct FoundSink {
  T *values; // either may be NULL
  int64_t *indices;
  __device__ __forceinline__ void put(int64_t i, Found<typename FyMath<T>::type> found) const {
    if (values)
      fy_store(values + i, found.value);
    if (indices)
      indices[i] = found.index;
  }
};

template <class T, bool MAX> static int search(FyLaunch *l, FyArray *values, FyArray *indices) {
  const FyExtremumParams *p = (const FyExtremumParams *)l->params;
  const FyArray *in = l->in[0];
  int64_t outer = 1, n = 1, inner = 1;
  for (int d = 0; d < in->ndim; d++)
    *(p->dim < 0 || d == p->dim ? &n : d < p->dim ? &outer : &inner) *= in->shape[d];
  if (!in->numel)
    return FY_LAUNCH_OK;
  RowSource<T> source = {(const T *)in->data, n, inner};
  FoundSink<T> sink = {values ? (T *)values->data : NULL, indices ? (int64_t *)indices->data : NULL};
  return fy_reduce(l, ExtremumOp<typename FyMath<T>::type, MAX>(), source, sink, outer * inner, n, inner > 1);
}

template <bool MAX> static int run(FyLaunch *l, FyArray *values, FyArray *indices) {
  const int dtype = l->in[0]->dtype == FY_BOOL ? (int)FY_UINT8 : (int)l->in[0]->dtype;
  FY_SWITCH_NUMBER(dtype, T, { return search<T, MAX>(l, values, indices); });
}

extern "C" int fy_cuda_max(FyLaunch *l) {
  return run<true>(l, l->out[0], NULL);
}

extern "C" int fy_cuda_min(FyLaunch *l) {
  return run<false>(l, l->out[0], NULL);
}

extern "C" int fy_cuda_max_dim(FyLaunch *l) {
  return run<true>(l, l->out[0], l->out[1]);
}

extern "C" int fy_cuda_min_dim(FyLaunch *l) {
  return run<false>(l, l->out[0], l->out[1]);
}

extern "C" int fy_cuda_argmax(FyLaunch *l) {
  return run<true>(l, NULL, l->out[0]);
}

extern "C" int fy_cuda_argmin(FyLaunch *l) {
  return run<false>(l, NULL, l->out[0]);
}
