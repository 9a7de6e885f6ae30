// SPDX-License-Identifier: MIT
// Kernels that read a row, agree on something about it (its maximum and sum, say), and read it again. A functor F says
// what:
//
//   State, none()               what is agreed on, and what it is before the first element
//   add(State *, i)             takes in element i of the array
//   combine(State, State)       joins what two threads have
//   shuffle(State, lanes)       the State of the thread `lanes` apart by xor
//   finish(row, State *, first) all is joined: called by each thread of the row, with `first` by one of them
//   WRITES, write(i, State)     whether the elements are gone through again, and what to do with each
#ifndef FERRY_OP_SOFTMAX_CUDA_CUH
#define FERRY_OP_SOFTMAX_CUDA_CUH

#include "op/kernel/cuda_common.cuh"
#include "op/elementwise/pointwise_math.h"
#include "op/normalization/softmax.h"

FY_DEVICE float fy_exp(float x) {
  return fy_exp_f32(x);
}
FY_DEVICE double fy_exp(double x) {
  return exp(x);
}

// [exp_sum]
// The maximum of a row and the sum of e^(x - maximum), kept while reading: one pass.
template <class X> struct FyExpSum { X max, sum; };

template <class X> FY_DEVICE FyExpSum<X> fy_exp_sum_none() {
  FyExpSum<X> none = {(X)-INFINITY, (X)0};
  return none;
}

template <class X> FY_DEVICE void fy_exp_sum_add(FyExpSum<X> *s, X x) {
  if (x > s->max) {
    s->sum = s->sum * fy_exp(s->max - x) + 1;
    s->max = x;
  } else if (x != (X)-INFINITY) {
    s->sum += fy_exp(x - s->max); // NaN for a NaN
  }
}

template <class X> FY_DEVICE FyExpSum<X> fy_exp_sum_combine(FyExpSum<X> a, FyExpSum<X> b) {
  const X max = a.max > b.max ? a.max : b.max;
  FyExpSum<X> both = {max, a.sum + b.sum};
  if (max != (X)-INFINITY)
    both.sum = a.sum * fy_exp(a.max - max) + b.sum * fy_exp(b.max - max);
  return both;
}
// [end]

template <class X> FY_DEVICE FyExpSum<X> fy_exp_sum_shuffle(FyExpSum<X> s, int lanes) {
  s.max = __shfl_xor_sync(0xffffffffu, s.max, lanes);
  s.sum = __shfl_xor_sync(0xffffffffu, s.sum, lanes);
  return s;
}

// A group of `lanes` threads (a power of two up to a warp) per row.
template <class F> __global__ void fy_short_rows(F f, int64_t rows, int64_t n, int lanes) {
  const int64_t step = (int64_t)gridDim.x * blockDim.x / lanes;
  int64_t row = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / lanes;
  const int64_t first_of_warp = row - threadIdx.x % FY_WARP / lanes;
  const int lane = (int)threadIdx.x % lanes;
  for (int64_t warp = first_of_warp; warp < rows; warp += step, row += step) {
    const int64_t end = row < rows ? (row + 1) * n : 0;
    typename F::State state = f.none();
    for (int64_t i = row * n + lane; i < end; i += lanes)
      f.add(&state, i);
    for (int apart = lanes / 2; apart > 0; apart /= 2)
      state = f.combine(state, f.shuffle(state, apart));
    if (row < rows)
      f.finish(row, &state, lane == 0);
    for (int64_t i = row * n + lane; F::WRITES && i < end; i += lanes)
      f.write(i, state);
  }
}

// A block per row; one barrier.
template <class F> __global__ void fy_long_rows(F f, int64_t n) {
  __shared__ typename F::State warps[FY_BLOCK / FY_WARP];
  const int64_t row = blockIdx.x, begin = row * n, end = begin + n;
  typename F::State state = f.none();
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    f.add(&state, i);
  for (int apart = FY_WARP / 2; apart > 0; apart /= 2)
    state = f.combine(state, f.shuffle(state, apart));
  if (threadIdx.x % FY_WARP == 0)
    warps[threadIdx.x / FY_WARP] = state;
  __syncthreads();
  state = warps[0];
  for (int warp = 1; warp < FY_BLOCK / FY_WARP; warp++)
    state = f.combine(state, warps[warp]);
  f.finish(row, &state, threadIdx.x == 0);
  for (int64_t i = begin + threadIdx.x; F::WRITES && i < end; i += blockDim.x)
    f.write(i, state);
}

// A thread per column: its elements are `inner` apart, those of neighbors side by side.
template <class F> __global__ void fy_softmax_columns(F f, int64_t outer, int64_t n, int64_t inner) {
  FY_GRID_STRIDE(column, outer * inner) {
    const int64_t o = column / inner, begin = o * n * inner + (column - o * inner);
    typename F::State state = f.none();
    for (int64_t i = 0; i < n; i++)
      f.add(&state, begin + i * inner);
    f.finish(column, &state, true);
    for (int64_t i = 0; F::WRITES && i < n; i++)
      f.write(begin + i * inner, state);
  }
}

template <class F> static int fy_run_rows(FyLaunch *l, F f, FySoftmaxShape s) {
  if (!s.outer || !s.inner)
    return FY_LAUNCH_OK;
  if (s.inner > 1) {
    fy_softmax_columns<F><<<fy_blocks(l, s.outer * s.inner), FY_BLOCK, 0, fy_stream(l)>>>(f, s.outer, s.n, s.inner);
  } else if (s.n <= FY_SHORT_ROW || s.outer > INT32_MAX) {
    int lanes = 1;
    while (lanes < FY_WARP && lanes * 4 < s.n)
      lanes *= 2;
    fy_short_rows<F><<<fy_blocks(l, s.outer * lanes), FY_BLOCK, 0, fy_stream(l)>>>(f, s.outer, s.n, lanes);
  } else {
    fy_long_rows<F><<<(unsigned)s.outer, FY_BLOCK, 0, fy_stream(l)>>>(f, s.n);
  }
  return (int)cudaGetLastError();
}

#endif
