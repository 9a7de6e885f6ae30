// SPDX-License-Identifier: MIT
// torch.matmul and F.linear on CUDA: cuBLAS does the products.
#include "op/product/cublas_gemm.cuh"
#include "op/product/matmul.h"

extern "C" int fy_cuda_matmul(FyLaunch *l) {
  const FyArray *a = l->in[0], *b = l->in[1];
  FyArray *c = l->out[0];
  const FyMatmulPlan p = fy_matmul_plan(a, b, c->ndim - (a->ndim > 1) - (b->ndim > 1), c->shape);
  const int64_t size = (int64_t)fy_dtype_size(c->dtype);
  if (c->numel == 0)
    return FY_LAUNCH_OK;
  // The innermost batch dimension has one stride per operand: one call of cuBLAS. The ones around it are looped over.
  const int inner = p.batch_ndim - 1;
  FyCudaGemm g = {};
  g.dtype = c->dtype;
  g.trans_a = p.a.trans;
  g.trans_b = p.b.trans;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.lda = p.a.ld;
  g.ldb = p.b.ld;
  g.ldc = p.n;
  g.stride_a = inner < 0 ? 0 : p.stride_a[inner];
  g.stride_b = inner < 0 ? 0 : p.stride_b[inner];
  g.stride_c = p.m * p.n;
  g.batches = inner < 0 ? 1 : p.batch_shape[inner];
  for (int64_t batch = 0; batch < p.batches; batch += g.batches) {
    int64_t offset_a, offset_b;
    fy_matmul_plan_offsets(&p, batch, &offset_a, &offset_b);
    g.a = (const char *)a->data + offset_a * size;
    g.b = (const char *)b->data + offset_b * size;
    g.c = (char *)c->data + batch * p.m * p.n * size;
    const int status = fy_cuda_gemm(l, &g);
    if (status != FY_LAUNCH_OK)
      return status;
  }
  return (int)cudaGetLastError();
}

template <class T> __global__ void fill_rows(T *out, const T *bias, int64_t columns, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    out[i] = bias[i % columns];
  }
}

// out = max(out + bias, 0); `bias` may be NULL. A NaN stays one.
template <class T> __global__ void bias_relu(T *out, const T *bias, int64_t columns, int64_t n) {
  FY_GRID_STRIDE(i, n) {
    typename FyMath<T>::type x = fy_load(out + i);
    if (bias)
      x += fy_load(bias + i % columns);
    fy_store(out + i, x <= 0 ? (typename FyMath<T>::type)0 : x);
  }
}

extern "C" int fy_cuda_linear(FyLaunch *l) {
  const bool relu = ((const FyLinearParams *)l->params)->relu;
  const FyArray *bias = l->in[2];
  FyArray *out = l->out[0];
  const FyMatmulPlan p = fy_linear_plan(l->in[0], l->in[1]);
  if (out->numel == 0)
    return FY_LAUNCH_OK;
  if (bias && !relu)
    FY_SWITCH_FLOATING(out->dtype, T, {
      fill_rows<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>((T *)out->data, (const T *)bias->data, p.n,
                                                                            out->numel);
    });
  FyCudaGemm g = {};
  g.dtype = out->dtype;
  g.trans_a = p.a.trans;
  g.trans_b = p.b.trans;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.a = l->in[0]->data;
  g.b = l->in[1]->data;
  g.c = out->data;
  g.lda = p.a.ld;
  g.ldb = p.b.ld;
  g.ldc = p.n;
  g.batches = 1;
  g.beta = bias && !relu ? 1 : 0;
  const int status = fy_cuda_gemm(l, &g);
  if (status != FY_LAUNCH_OK)
    return status;
  if (relu)
    FY_SWITCH_FLOATING(out->dtype, T, {
      bias_relu<T><<<fy_blocks(l, out->numel), FY_BLOCK, 0, fy_stream(l)>>>(
          (T *)out->data, bias ? (const T *)bias->data : NULL, p.n, out->numel);
    });
  return (int)cudaGetLastError();
}
