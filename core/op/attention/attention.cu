// SPDX-License-Identifier: MIT
// F.scaled_dot_product_attention on CUDA. A block for each query, or, for the gradients of key and value, for each key. It goes
// through the other side in tiles of TILE rows: each thread computes the numbers of one pair of query and key, then the block sums
// up rows, a thread for each column. No matrix of scores is stored.
#include "op/attention/attention.h"
#include "op/elementwise/pointwise_math.h"
#include "op/kernel/cuda_common.cuh"

enum { TILE = 128 }; // keys or queries, and threads of a block

FY_DEVICE float e_to(float x) {
  return fy_exp_f32(x);
}
FY_DEVICE double e_to(double x) {
  return exp(x);
}

template <class T> struct Arrays {
  typedef typename FyMath<T>::type X;
  const T *query, *key, *value, *grad, *out;
  const X *lse;
  FyAttentionShape s;
  bool causal;
  X scale;

  __device__ __forceinline__ X dot(const T *a, const T *b, int64_t n) const {
    X sum = 0;
    for (int64_t i = 0; i < n; i++)
      sum += fy_load(a + i) * fy_load(b + i);
    return sum;
  }
  // Of query row i and key row j, counted through all batches.
  __device__ __forceinline__ X score(int64_t i, int64_t j) const {
    return dot(query + i * s.e, key + j * s.e, s.e) * scale;
  }
  __device__ __forceinline__ int64_t keys_of(int64_t row) const {
    return causal && row + 1 < s.s ? row + 1 : s.s;
  }
  // The gradient of the score of a pair with this weight.
  __device__ __forceinline__ X score_gradient(int64_t i, int64_t j, X weight, X level) const {
    return weight * (dot(grad + i * s.ev, value + j * s.ev, s.ev) - level) * scale;
  }
  __device__ __forceinline__ X level(int64_t i) const {
    return dot(grad + i * s.ev, out + i * s.ev, s.ev);
  }
};

FY_DEVICE int pairs_left(int64_t rows) {
  return rows < TILE ? (int)rows : (int)TILE;
}

// The sum over the n pairs of a tile of number[pair] * rows[pair][column].
template <class T, class X> FY_DEVICE X tile_sum(const X *number, const T *rows, int64_t width, int64_t column, int n) {
  X sum = 0;
  for (int pair = 0; pair < n; pair++)
    sum += number[pair] * fy_load(rows + pair * width + column);
  return sum;
}

template <class T, class X> __global__ void attention_forward(Arrays<T> a, T *out, X *lse_out) {
  __shared__ X weight[TILE];
  for (int64_t i = blockIdx.x; i < a.s.batches * a.s.l; i += gridDim.x) {
    const int64_t first = i / a.s.l * a.s.s, keys = a.keys_of(i % a.s.l);
    X max = (X)-INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < keys; j += TILE)
      max = FyMax()(max, a.score(i, first + j));
    max = fy_block_max(max);
    for (int64_t j = threadIdx.x; j < keys; j += TILE)
      sum += e_to(a.score(i, first + j) - max);
    const X lse = max + log(fy_block_sum(sum));
    for (int64_t begin = 0; begin < a.s.ev; begin += TILE) {
      const int64_t column = begin + threadIdx.x;
      X mixed = 0;
      for (int64_t from = 0; from < keys; from += TILE) {
        const int64_t j = from + threadIdx.x;
        weight[threadIdx.x] = j < keys ? e_to(a.score(i, first + j) - lse) : (X)0;
        __syncthreads();
        if (column < a.s.ev)
          mixed += tile_sum(weight, a.value + (first + from) * a.s.ev, a.s.ev, column, pairs_left(keys - from));
        __syncthreads();
      }
      if (column < a.s.ev)
        fy_store(out + i * a.s.ev + column, mixed);
    }
    if (threadIdx.x == 0)
      lse_out[i] = lse;
  }
}

template <class T, class X> __global__ void attention_grad_query(Arrays<T> a, T *grad_query) {
  __shared__ X gradient[TILE];
  for (int64_t i = blockIdx.x; i < a.s.batches * a.s.l; i += gridDim.x) {
    const int64_t first = i / a.s.l * a.s.s, keys = a.keys_of(i % a.s.l);
    const X level = a.level(i);
    for (int64_t begin = 0; begin < a.s.e; begin += TILE) {
      const int64_t column = begin + threadIdx.x;
      X sum = 0;
      for (int64_t from = 0; from < keys; from += TILE) {
        const int64_t j = from + threadIdx.x;
        gradient[threadIdx.x] =
            j < keys ? a.score_gradient(i, first + j, e_to(a.score(i, first + j) - a.lse[i]), level) : (X)0;
        __syncthreads();
        if (column < a.s.e)
          sum += tile_sum(gradient, a.key + (first + from) * a.s.e, a.s.e, column, pairs_left(keys - from));
        __syncthreads();
      }
      if (column < a.s.e)
        fy_store(grad_query + i * a.s.e + column, sum);
    }
  }
}

// A causal key is seen from its own query on.
template <class T, class X> __global__ void attention_grad_key_value(Arrays<T> a, T *grad_key, T *grad_value) {
  __shared__ X weight[TILE], gradient[TILE];
  const int64_t widest = a.s.e > a.s.ev ? a.s.e : a.s.ev;
  for (int64_t j = blockIdx.x; j < a.s.batches * a.s.s; j += gridDim.x) {
    const int64_t first = j / a.s.s * a.s.l, start = a.causal ? j % a.s.s : 0;
    for (int64_t begin = 0; begin < widest; begin += TILE) {
      const int64_t column = begin + threadIdx.x;
      X of_key = 0, of_value = 0;
      for (int64_t from = start; from < a.s.l; from += TILE) {
        const int64_t i = first + from + threadIdx.x;
        const bool inside = from + threadIdx.x < a.s.l;
        const X w = inside ? e_to(a.score(i, j) - a.lse[i]) : (X)0;
        weight[threadIdx.x] = w;
        gradient[threadIdx.x] = inside ? a.score_gradient(i, j, w, a.level(i)) : (X)0;
        __syncthreads();
        const int n = pairs_left(a.s.l - from);
        if (column < a.s.e)
          of_key += tile_sum(gradient, a.query + (first + from) * a.s.e, a.s.e, column, n);
        if (column < a.s.ev)
          of_value += tile_sum(weight, a.grad + (first + from) * a.s.ev, a.s.ev, column, n);
        __syncthreads();
      }
      if (column < a.s.e)
        fy_store(grad_key + j * a.s.e + column, of_key);
      if (column < a.s.ev)
        fy_store(grad_value + j * a.s.ev + column, of_value);
    }
  }
}

// ---- launches ----------------------------------------------------------------------------------------------------------

template <class T> static const T *data_of(const FyLaunch *l, int i) {
  return i < l->n_in ? (const T *)l->in[i]->data : NULL;
}

template <class T> static Arrays<T> arrays_of(const FyLaunch *l) {
  typedef typename FyMath<T>::type X;
  const FyAttentionParams *p = (const FyAttentionParams *)l->params;
  const FyAttentionShape s = fy_attention_shape(l->in[0], l->in[1], l->in[2]);
  const Arrays<T> a = {data_of<T>(l, FY_ATTENTION_QUERY),
                       data_of<T>(l, FY_ATTENTION_KEY),
                       data_of<T>(l, FY_ATTENTION_VALUE),
                       data_of<T>(l, FY_ATTENTION_GRAD),
                       data_of<T>(l, FY_ATTENTION_GRAD_OUT),
                       data_of<X>(l, FY_ATTENTION_GRAD_LSE),
                       s,
                       p->is_causal != 0,
                       (X)p->scale};
  return a;
}

extern "C" int fy_cuda_scaled_dot_product_attention(FyLaunch *l) {
  const FyAttentionShape s = fy_attention_shape(l->in[0], l->in[1], l->in[2]);
  if (l->out[FY_ATTENTION_OUT]->numel == 0 || s.s == 0)
    return fy_clear_outputs(l, FY_ATTENTION_OUT, 1);
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, {
    typedef typename FyMath<T>::type X;
    attention_forward<T, X><<<fy_row_blocks(s.batches * s.l), TILE, 0, fy_stream(l)>>>(
        arrays_of<T>(l), (T *)l->out[FY_ATTENTION_OUT]->data, (X *)l->out[FY_ATTENTION_LSE]->data);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_scaled_dot_product_attention_backward(FyLaunch *l) {
  const FyAttentionShape s = fy_attention_shape(l->in[0], l->in[1], l->in[2]);
  if (l->in[FY_ATTENTION_GRAD]->numel == 0 || s.s == 0)
    return fy_clear_outputs(l, 0, 3);
  FY_SWITCH_FLOATING(l->in[0]->dtype, T, {
    typedef typename FyMath<T>::type X;
    const Arrays<T> a = arrays_of<T>(l);
    attention_grad_query<T, X><<<fy_row_blocks(s.batches * s.l), TILE, 0, fy_stream(l)>>>(a, (T *)l->out[0]->data);
    attention_grad_key_value<T, X>
        <<<fy_row_blocks(s.batches * s.s), TILE, 0, fy_stream(l)>>>(a, (T *)l->out[1]->data, (T *)l->out[2]->data);
  });
  return (int)cudaGetLastError();
}
