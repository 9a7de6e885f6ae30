// SPDX-License-Identifier: MIT
// How matrices lie in tensors, for the matrix products: plain C, shared by matmul.c and matmul.cu.
#ifndef FERRY_OP_MATMUL_H
#define FERRY_OP_MATMUL_H

#include "op/launch.h"
#include <string.h>

// A matrix as BLAS takes it: row-major with leading dimension `ld`, or the transpose of one.
typedef struct FyMatrix {
  bool trans;
  int64_t ld;
} FyMatrix;

// C (batches, m, n) = A (batches, m, k) B (batches, k, n), C without gaps. The batch dimensions are those of the broadcast
// result, merged where both operands allow it; a stride is 0 where an operand is broadcast.
typedef struct FyMatmulPlan {
  int64_t m, n, k;
  FyMatrix a, b;
  int batch_ndim;
  int64_t batch_shape[FY_MAX_DIM], stride_a[FY_MAX_DIM], stride_b[FY_MAX_DIM];
  int64_t batches;
} FyMatmulPlan;

// Can a (rows, columns) matrix with these strides be given to BLAS as it lies? Fills `matrix` if so.
static inline bool fy_matrix_of(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                                FyMatrix *matrix) {
  matrix->trans = false;
  matrix->ld = columns > 0 ? columns : 1;
  if (rows <= 1 && (columns <= 1 || column_stride == 1))
    return true;
  if ((columns <= 1 || column_stride == 1) && row_stride >= columns && row_stride > 0) {
    matrix->ld = row_stride;
    return true;
  }
  matrix->trans = true;
  matrix->ld = rows > 0 ? rows : 1;
  if (columns <= 1)
    return rows <= 1 || row_stride == 1;
  if ((rows <= 1 || row_stride == 1) && column_stride >= rows && column_stride > 0) {
    matrix->ld = column_stride;
    return true;
  }
  return false;
}

// The last two dimensions of `x` as a matrix; a vector is a row (left operand) or a column (right operand).
static inline bool fy_matrix_of_array(const FyArray *x, bool left, FyMatrix *matrix) {
  if (x->ndim == 1 && left)
    return fy_matrix_of(1, x->shape[0], 0, x->stride[0], matrix);
  if (x->ndim == 1)
    return fy_matrix_of(x->shape[0], 1, x->stride[0], 1, matrix);
  const int64_t *shape = x->shape + x->ndim - 2, *stride = x->stride + x->ndim - 2;
  return fy_matrix_of(shape[0], shape[1], stride[0], stride[1], matrix);
}

// Stride of operand `x` along dimension d of `ndim` batch dimensions of the result.
static inline int64_t fy_batch_stride(const FyArray *x, int d, int ndim) {
  int own = (x->ndim > 2 ? x->ndim - 2 : 0) - ndim + d;
  return own < 0 || x->shape[own] == 1 ? 0 : x->stride[own];
}

// Adds an innermost batch dimension, merging it with the one around it where the strides allow.
static inline void fy_matmul_plan_add(FyMatmulPlan *p, int64_t size, int64_t stride_a, int64_t stride_b) {
  int last = p->batch_ndim - 1;
  if (size == 1)
    return;
  if (last >= 0 && p->stride_a[last] == stride_a * size && p->stride_b[last] == stride_b * size)
    p->batch_shape[last] *= size;
  else
    p->batch_shape[last = p->batch_ndim++] = size;
  p->stride_a[last] = stride_a;
  p->stride_b[last] = stride_b;
}

// The plan for a product whose operands passed fy_matrix_of_array. `batch_shape` (batch_ndim) is the result's.
static inline FyMatmulPlan fy_matmul_plan(const FyArray *a, const FyArray *b, int batch_ndim,
                                          const int64_t *batch_shape) {
  FyMatmulPlan p;
  memset(&p, 0, sizeof p);
  p.m = a->ndim == 1 ? 1 : a->shape[a->ndim - 2];
  p.k = a->shape[a->ndim - 1];
  p.n = b->ndim == 1 ? 1 : b->shape[b->ndim - 1];
  fy_matrix_of_array(a, true, &p.a);
  fy_matrix_of_array(b, false, &p.b);
  p.batches = 1;
  for (int d = 0; d < batch_ndim; d++) {
    p.batches *= batch_shape[d];
    fy_matmul_plan_add(&p, batch_shape[d], fy_batch_stride(a, d, batch_ndim), fy_batch_stride(b, d, batch_ndim));
  }
  // One B for all: the batch is more rows of A.
  if (p.batch_ndim == 1 && p.stride_b[0] == 0 && !p.a.trans) {
    int64_t ld = p.m == 1 ? p.stride_a[0] : p.a.ld;
    if (ld >= p.k && ld > 0 && p.stride_a[0] == p.m * ld) {
      p.a.ld = ld;
      p.m *= p.batches;
      p.batches = 1;
      p.batch_ndim = 0;
    }
  }
  return p;
}

// x (*, in) times the transpose of weight (out, in), as m, n, k = rows, out, in.
static inline FyMatmulPlan fy_linear_plan(const FyArray *x, const FyArray *weight) {
  FyMatmulPlan p;
  memset(&p, 0, sizeof p);
  p.n = weight->shape[0];
  p.k = weight->shape[1];
  p.m = 1;
  for (int d = 0; d < x->ndim - 1; d++)
    p.m *= x->shape[d];
  p.batches = 1;
  p.a.ld = p.k > 0 ? p.k : 1;
  if (x->ndim == 2)
    fy_matrix_of_array(x, true, &p.a);
  fy_matrix_of_array(weight, false, &p.b);
  p.b.trans = !p.b.trans;
  return p;
}

// Offsets of the batch'th matrices, in elements.
static inline void fy_matmul_plan_offsets(const FyMatmulPlan *p, int64_t batch, int64_t *a, int64_t *b) {
  *a = *b = 0;
  for (int d = p->batch_ndim - 1; d >= 0; d--) {
    int64_t i = batch % p->batch_shape[d];
    batch /= p->batch_shape[d];
    *a += i * p->stride_a[d];
    *b += i * p->stride_b[d];
  }
}

typedef struct FyLinearParams {
  int bias; // is there one? The node's name depends on it
  int relu; // cut the result off at zero
} FyLinearParams;

#endif
