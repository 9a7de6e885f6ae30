// SPDX-License-Identifier: MIT
// index_select, embedding and index_add on CUDA. An index out of range stops the kernel: a device-side assert, as in PyTorch.
#include "op/kernel/cuda_common.cuh"
#include "op/indexing/index.h"

// Element i of (outer, k, inner): its outer and inner coordinates, and its place in the index.
struct Place {
  int64_t outer, at, inner;
};

template <class Int> FY_DEVICE Place place_of(int64_t i, FyIndexShape s) {
  const Int row = (Int)i / (Int)s.inner, outer = row / (Int)s.k;
  Place place = {(int64_t)outer, (int64_t)(row - outer * (Int)s.k), (int64_t)((Int)i - row * (Int)s.inner)};
  return place;
}

template <class T, class Index, class Int>
__global__ void pick(T *out, const T *in, const Index *index, FyIndexShape s, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const Place place = place_of<Int>(i, s);
    const int64_t from = index[place.at];
    assert(from >= 0 && from < s.n);
    out[i] = in[(place.outer * s.n + from) * s.inner + place.inner];
  }
}

template <class T> static int run_pick(FyLaunch *l, const FyArray *a, const FyArray *index, int dim) {
  const FyIndexShape s = fy_index_shape(a, dim, index);
  const int64_t n = l->out[0]->numel;
  const unsigned blocks = fy_blocks(l, n);
  T *out = (T *)l->out[0]->data;
  const T *in = (const T *)a->data;
  const bool small = n <= INT32_MAX;
  if (!n)
    return FY_LAUNCH_OK;
  if (index->dtype == FY_INT64 && small)
    pick<T, int64_t, uint32_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, in, (const int64_t *)index->data, s, n);
  else if (index->dtype == FY_INT64)
    pick<T, int64_t, int64_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, in, (const int64_t *)index->data, s, n);
  else if (small)
    pick<T, int32_t, uint32_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, in, (const int32_t *)index->data, s, n);
  else
    pick<T, int32_t, int64_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, in, (const int32_t *)index->data, s, n);
  return (int)cudaGetLastError();
}

static int pick_any(FyLaunch *l, const FyArray *a, const FyArray *index, int dim) {
  const int dtype = a->dtype == FY_BOOL ? (int)FY_UINT8 : (int)a->dtype;
  FY_SWITCH_NUMBER(dtype, T, { return run_pick<T>(l, a, index, dim); });
}

extern "C" int fy_cuda_index_select(FyLaunch *l) {
  return pick_any(l, l->in[0], l->in[1], ((const FyIndexParams *)l->params)->dim);
}

extern "C" int fy_cuda_embedding(FyLaunch *l) {
  return pick_any(l, l->in[1], l->in[0], 0);
}

// ---- index_add: atomics, so that floating sums of equal indices may differ in the last bits from run to run ----------------

// [add_rows]
template <class To, class T, class Index>
__global__ void add_rows(To *out, const T *source, const Index *index, FyIndexShape s, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    const Place place = place_of<int64_t>(i, s);
    const int64_t to = index[place.at];
    assert(to >= 0 && to < s.n);
    fy_atomic_add(out + (place.outer * s.n + to) * s.inner + place.inner, fy_cast<To>(source[i]));
  }
}
// [end]

template <class To, class T> static int run_add(FyLaunch *l, To *out) {
  const FyIndexShape s = fy_index_shape(l->in[0], ((const FyIndexParams *)l->params)->dim, l->in[1]);
  const int64_t n = l->in[2]->numel;
  const unsigned blocks = fy_blocks(l, n);
  const T *source = (const T *)l->in[2]->data;
  const void *index = l->in[1]->data;
  if (n && l->in[0]->numel && l->in[1]->dtype == FY_INT64)
    add_rows<To, T, int64_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, source, (const int64_t *)index, s, n);
  else if (n && l->in[0]->numel)
    add_rows<To, T, int32_t><<<blocks, FY_BLOCK, 0, fy_stream(l)>>>(out, source, (const int32_t *)index, s, n);
  return (int)cudaGetLastError();
}

template <class T> static int index_add(FyLaunch *l) {
  const FyArray *a = l->in[0];
  void *out = l->out[0]->data;
  if (out != a->data) {
    const cudaError_t error =
        cudaMemcpyAsync(out, a->data, (size_t)a->numel * sizeof(T), cudaMemcpyDeviceToDevice, fy_stream(l));
    if (error != cudaSuccess)
      return (int)error;
  }
  return run_add<T, T>(l, (T *)out);
}

template <class T> __global__ void add_sums(T *out, const T *a, const float *sums, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    fy_store(out + i, fy_load(a + i) + sums[i]);
  }
}

// Sums of half types are kept in float, or many small terms would leave a large sum as it is.
template <class T> static int index_add_half(FyLaunch *l) {
  const FyArray *a = l->in[0];
  const size_t bytes = (size_t)a->numel * sizeof(float);
  if (!a->numel)
    return FY_LAUNCH_OK;
  float *sums = (float *)l->workspace(l, bytes);
  if (!sums)
    return FY_LAUNCH_NO_MEMORY;
  int error = (int)cudaMemsetAsync(sums, 0, bytes, fy_stream(l));
  if (!error)
    error = run_add<float, T>(l, sums);
  if (error)
    return error;
  add_sums<T>
      <<<fy_blocks(l, a->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)l->out[0]->data, (const T *)a->data, sums, a->numel);
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_index_add(FyLaunch *l) {
  switch (l->in[0]->dtype) {
  case FY_FLOAT16:
    return index_add_half<__half>(l);
  case FY_BFLOAT16:
    return index_add_half<__nv_bfloat16>(l);
  case FY_FLOAT32:
    return index_add<float>(l);
  case FY_FLOAT64:
    return index_add<double>(l);
  case FY_INT64:
    return index_add<int64_t>(l);
  case FY_INT32:
    return index_add<int32_t>(l);
  case FY_UINT8:
    return index_add<uint8_t>(l);
  default:
    return FY_LAUNCH_NO_KERNEL;
  }
}
