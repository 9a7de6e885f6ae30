// SPDX-License-Identifier: MIT
// F.layer_norm on CUDA: a block for each row, of one warp where the row is short. The parameters' gradients are sums of
// columns.
#include "op/normalization/layer_norm.h"
#include "op/reduction/reduce_cuda.cuh"

// mean and rstd of a row, in two passes over it; the third finds it in the L1 cache.
template <class T, class X>
__global__ void normalize_rows(T *out, X *mean_out, X *rstd_out, const T *x, const X *weight, const X *bias,
                               int64_t rows, int64_t n, double eps) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t begin = row * n;
    X sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x)
      sum += fy_load(x + begin + i);
    const X mean = fy_block_sum(sum) / (X)n;
    sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const X distance = fy_load(x + begin + i) - mean;
      sum += distance * distance;
    }
    const X rstd = (X)1 / sqrt(fy_block_sum(sum) / (X)n + (X)eps);
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const X xhat = (fy_load(x + begin + i) - mean) * rstd;
      fy_store(out + begin + i, xhat * (weight ? weight[i] : (X)1) + (bias ? bias[i] : (X)0));
    }
    if (threadIdx.x == 0) {
      mean_out[row] = mean;
      rstd_out[row] = rstd;
    }
  }
}

template <class T, class X>
__global__ void gradient_of_rows(T *out, const T *grad, const T *x, const X *mean_of, const X *rstd_of, const X *weight,
                                 int64_t rows, int64_t n) {
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const int64_t begin = row * n;
    const X mean = mean_of[row], rstd = rstd_of[row];
    X sum = 0, product = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const X scaled = fy_load(grad + begin + i) * (weight ? weight[i] : (X)1);
      sum += scaled;
      product += scaled * (fy_load(x + begin + i) - mean) * rstd;
    }
    const X level = fy_block_sum(sum) / (X)n, slope = fy_block_sum(product) / (X)n;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const X scaled = fy_load(grad + begin + i) * (weight ? weight[i] : (X)1);
      const X xhat = (fy_load(x + begin + i) - mean) * rstd;
      fy_store(out + begin + i, (scaled - level - xhat * slope) * rstd);
    }
  }
}

// ---- the parameters' gradients: sums of grad * xhat and of grad over the rows ------------------------------------------

template <class X> struct ParameterSums { X weight, bias; };

template <class X> struct ParameterSumsOp {
  typedef ParameterSums<X> Acc;
  __device__ __forceinline__ Acc init() const {
    Acc none = {(X)0, (X)0};
    return none;
  }
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    Acc both = {a.weight + b.weight, a.bias + b.bias};
    return both;
  }
  __device__ __forceinline__ Acc shuffle(Acc a, int lanes) const {
    a.weight = __shfl_xor_sync(0xffffffffu, a.weight, lanes);
    a.bias = __shfl_xor_sync(0xffffffffu, a.bias, lanes);
    return a;
  }
};

template <class T, class X> struct ParameterTerms {
  const T *grad, *x;
  const X *mean, *rstd;
  int64_t n;
  __device__ __forceinline__ int64_t base(int64_t column) const {
    return column;
  }
  __device__ __forceinline__ ParameterSums<X> term(int64_t column, int64_t row) const {
    const X g = fy_load(grad + row * n + column);
    ParameterSums<X> term = {g * (fy_load(x + row * n + column) - mean[row]) * rstd[row], g};
    return term;
  }
};

template <class X> struct ParameterGradients {
  X *weight, *bias;
  __device__ __forceinline__ void put(int64_t column, ParameterSums<X> sums) const {
    weight[column] = sums.weight;
    bias[column] = sums.bias;
  }
};

// ---- launches ----------------------------------------------------------------------------------------------------------

enum { SHORT_ROW = 512 };

static unsigned row_threads(const FyLayerNormShape *s) {
  return s->n <= SHORT_ROW ? FY_WARP : FY_BLOCK;
}

extern "C" int fy_cuda_layer_norm(FyLaunch *l) {
  const FyLayerNormParams *p = (const FyLayerNormParams *)l->params;
  const FyArray *x = l->in[FY_LAYER_NORM_X];
  const FyLayerNormShape s = fy_layer_norm_shape(x, p);
  if (x->numel == 0)
    return FY_LAUNCH_OK;
  FY_SWITCH_FLOATING(x->dtype, T, {
    typedef typename FyMath<T>::type X;
    normalize_rows<T, X><<<fy_row_blocks(s.rows), row_threads(&s), 0, fy_stream(l)>>>(
        (T *)l->out[FY_LAYER_NORM_OUT]->data, (X *)fy_array_data(l->out[FY_LAYER_NORM_MEAN]),
        (X *)fy_array_data(l->out[FY_LAYER_NORM_RSTD]), (const T *)x->data,
        (X *)fy_array_data(l->in[FY_LAYER_NORM_WEIGHT]), (X *)fy_array_data(l->in[FY_LAYER_NORM_BIAS]), s.rows, s.n,
        p->eps);
  });
  return (int)cudaGetLastError();
}

extern "C" int fy_cuda_layer_norm_backward(FyLaunch *l) {
  const FyArray *x = l->in[FY_LAYER_NORM_GRAD_X];
  const FyLayerNormShape s = fy_layer_norm_shape(x, (const FyLayerNormParams *)l->params);
  if (x->numel == 0)
    return fy_clear_outputs(l, 1, l->n_out);
  FY_SWITCH_FLOATING(x->dtype, T, {
    typedef typename FyMath<T>::type X;
    const T *grad = (const T *)l->in[FY_LAYER_NORM_GRAD]->data;
    const X *mean = (X *)fy_array_data(l->in[FY_LAYER_NORM_GRAD_MEAN]);
    const X *rstd = (X *)fy_array_data(l->in[FY_LAYER_NORM_GRAD_RSTD]);
    gradient_of_rows<T, X><<<fy_row_blocks(s.rows), row_threads(&s), 0, fy_stream(l)>>>(
        (T *)l->out[0]->data, grad, (const T *)x->data, mean, rstd,
        (X *)fy_array_data(l->in[FY_LAYER_NORM_GRAD_WEIGHT]), s.rows, s.n);
    if (l->n_out > 1) {
      const ParameterTerms<T, X> terms = {grad, (const T *)x->data, mean, rstd, s.n};
      const ParameterGradients<X> gradients = {(X *)fy_array_data(l->out[1]), (X *)fy_array_data(l->out[2])};
      return fy_reduce(l, ParameterSumsOp<X>(), terms, gradients, s.n, s.rows, true);
    }
  });
  return (int)cudaGetLastError();
}
