// SPDX-License-Identifier: MIT
// Launching a functor over arrays: the one way all pointwise CUDA kernels run.
//
// Where the arrays are contiguous (or a single value), each thread moves 16 bytes at a time; otherwise it computes the
// offset of each element. Values of host scalars and of Python numbers travel as kernel arguments.
#ifndef FERRY_OP_POINTWISE_CUH
#define FERRY_OP_POINTWISE_CUH

#include "op/kernel/cuda_common.cuh"
#include "op/elementwise/pointwise.h"

// An operand of element type T: memory, or one value. With neither (data NULL) the value came by the launch.
template <class T> struct FyOperand {
  typedef typename FyMath<T>::type Math;
  const T *data;
  Math value;
  bool single; // the same value for every element

  // What `single` operands are read by, once per thread.
  __device__ __forceinline__ Math first() const {
    return single && data ? fy_load(data) : value;
  }
};

template <class T> static FyOperand<T> fy_operand(const FyArray *a) {
  FyOperand<T> operand = {};
  operand.single = a->numel == 1;
  if (a->host_scalar)
    operand.value = fy_host_value<typename FyMath<T>::type>(a);
  else
    operand.data = (const T *)a->data;
  return operand;
}

template <class T> static FyOperand<T> fy_number_operand(double number) {
  FyOperand<T> operand = {};
  operand.single = true;
  operand.value = fy_cast<typename FyMath<T>::type>(number);
  return operand;
}

// True when every array is contiguous and of the output's size, or a single value.
static inline bool fy_runs_flat(const FyArray *out, int n, const FyArray *const *in) {
  if (!out->contiguous)
    return false;
  for (int i = 0; i < n; i++)
    if (in[i]->numel != 1 && !(in[i]->contiguous && in[i]->numel == out->numel))
      return false;
  return true;
}

// ---- kernels -------------------------------------------------------------------------------------------------------------

// Elements of the wider of two types that fit in 16 bytes.
template <class A, class B> struct FyWidth {
  static const int n = 16 / (sizeof(A) > sizeof(B) ? sizeof(A) : sizeof(B));
};

// The N elements of an operand that begin at index i * N, to compute with.
template <int N, class A> FY_DEVICE void fy_read(typename FyMath<A>::type *x, const FyOperand<A> &a, int64_t i) {
  if (a.single) {
    for (int k = 0; k < N; k++)
      x[k] = a.value;
    return;
  }
  const FyVector<A, N> elements = ((const FyVector<A, N> *)a.data)[i];
#pragma unroll
  for (int k = 0; k < N; k++)
    x[k] = fy_load(&elements.at[k]);
}

// True of a thread that has none of them to do. It must not even read an operand of a single element, which in place is the one
// that another thread writes.
FY_DEVICE bool fy_is_idle(int64_t vectors, int64_t rest) {
  const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  return i >= vectors && i >= rest;
}

// Threads take N elements at a time of the first N * vectors, then one at a time of the rest: the last few, or all of an
// array that is not aligned.
template <class F, class R, class A, int N>
__global__ void fy_unary_flat(F f, R *out, FyOperand<A> a, int64_t vectors, int64_t n) {
  if (fy_is_idle(vectors, n - vectors * N))
    return;
  a.value = a.first();
  FY_GRID_STRIDE(i, vectors) {
    typename FyMath<A>::type x[N];
    FyVector<R, N> result;
    fy_read<N>(x, a, i);
#pragma unroll
    for (int k = 0; k < N; k++)
      fy_store(&result.at[k], f(x[k]));
    ((FyVector<R, N> *)out)[i] = result;
  }
  FY_GRID_STRIDE(i, n - vectors * N) {
    const int64_t at = vectors * N + i;
    fy_store(out + at, f(a.single ? a.value : fy_load(a.data + at)));
  }
}

template <class F, class R, class A, int N>
__global__ void fy_binary_flat(F f, R *out, FyOperand<A> a, FyOperand<A> b, int64_t vectors, int64_t n) {
  if (fy_is_idle(vectors, n - vectors * N))
    return;
  a.value = a.first();
  b.value = b.first();
  FY_GRID_STRIDE(i, vectors) {
    typename FyMath<A>::type x[N], y[N];
    FyVector<R, N> result;
    fy_read<N>(x, a, i);
    fy_read<N>(y, b, i);
#pragma unroll
    for (int k = 0; k < N; k++)
      fy_store(&result.at[k], f(x[k], y[k]));
    ((FyVector<R, N> *)out)[i] = result;
  }
  FY_GRID_STRIDE(i, n - vectors * N) {
    const int64_t at = vectors * N + i;
    fy_store(out + at, f(a.single ? a.value : fy_load(a.data + at), b.single ? b.value : fy_load(b.data + at)));
  }
}

template <class F, class R, class A>
__global__ void fy_binary_strided(F f, R *out, FyOperand<A> a, FyOperand<A> b, FyIndexer<3> indexer, int64_t n) {
  a.value = a.first();
  b.value = b.first();
  FY_GRID_STRIDE(i, n) {
    const FyOffsets<3> offset = indexer.offsets(i);
    fy_store(out + offset.at[0], f(a.single ? a.value : fy_load(a.data + offset.at[1]),
                                   b.single ? b.value : fy_load(b.data + offset.at[2])));
  }
}

// ---- launches ------------------------------------------------------------------------------------------------------------

// out = f(a), with elements of type R and A. On CUDA infer has made both contiguous.
template <class R, class A, class F> static int fy_launch_unary(FyLaunch *l, F f) {
  const FyArray *out = l->out[0];
  const int64_t n = out->numel;
  const FyOperand<A> a = fy_operand<A>(l->in[0]);
  enum { N = FyWidth<R, A>::n };
  if (n == 0)
    return FY_LAUNCH_OK;
  const int64_t vectors = fy_is_aligned(out->data, sizeof(R) * N) && fy_is_aligned(a.data, sizeof(A) * N) ? n / N : 0;
  fy_unary_flat<F, R, A, N>
      <<<fy_blocks(l, vectors ? vectors : n), FY_BLOCK, 0, fy_stream(l)>>>(f, (R *)out->data, a, vectors, n);
  return (int)cudaGetLastError();
}

// out = f(a, b); a call with one input has a number, from params, as b.
template <class R, class A, class F> static int fy_launch_binary(FyLaunch *l, F f) {
  const FyArray *out = l->out[0];
  const bool number = l->n_in == 1;
  const FyArray *const in[2] = {l->in[0], number ? l->in[0] : l->in[1]};
  const int64_t n = out->numel;
  enum { N = FyWidth<R, A>::n };
  if (n == 0)
    return FY_LAUNCH_OK;
  const FyOperand<A> a = fy_operand<A>(in[0]);
  const FyOperand<A> b = number ? fy_number_operand<A>(((const FyPointwise *)l->params)->a) : fy_operand<A>(in[1]);
  if (fy_runs_flat(out, 2, in)) {
    const bool aligned = fy_is_aligned(out->data, sizeof(R) * N) &&
                         (a.single || fy_is_aligned(a.data, sizeof(A) * N)) &&
                         (b.single || fy_is_aligned(b.data, sizeof(A) * N));
    const int64_t vectors = aligned ? n / N : 0;
    fy_binary_flat<F, R, A, N>
        <<<fy_blocks(l, vectors ? vectors : n), FY_BLOCK, 0, fy_stream(l)>>>(f, (R *)out->data, a, b, vectors, n);
  } else {
    FyIter iter;
    fy_iter_of(&iter, out, 2, in);
    fy_binary_strided<F, R, A>
        <<<fy_blocks(l, n), FY_BLOCK, 0, fy_stream(l)>>>(f, (R *)out->data, a, b, fy_indexer<3>(&iter), n);
  }
  return (int)cudaGetLastError();
}

#endif
