// SPDX-License-Identifier: MIT
// Layer normalization: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_LAYER_NORM_H
#define FERRY_OP_LAYER_NORM_H

#include "op/launch.h"

typedef struct FyLayerNormParams {
  int dims; // the last so many are normalized over
  int64_t shape[FY_MAX_DIM];
  double eps;
} FyLayerNormParams;

// x as rows of n values; each row is normalized.
typedef struct FyLayerNormShape {
  int64_t rows, n;
} FyLayerNormShape;

static inline FyLayerNormShape fy_layer_norm_shape(const FyArray *x, const FyLayerNormParams *p) {
  FyLayerNormShape s = {1, 1};
  for (int d = 0; d < x->ndim - p->dims; d++)
    s.rows *= x->shape[d];
  for (int d = 0; d < p->dims; d++)
    s.n *= p->shape[d];
  return s;
}

// Kernels' operands. Statistics and parameters are float64 for a float64 x and float32 otherwise.
enum { FY_LAYER_NORM_X, FY_LAYER_NORM_WEIGHT, FY_LAYER_NORM_BIAS };
enum { FY_LAYER_NORM_OUT, FY_LAYER_NORM_MEAN, FY_LAYER_NORM_RSTD };
enum {
  FY_LAYER_NORM_GRAD,
  FY_LAYER_NORM_GRAD_X,
  FY_LAYER_NORM_GRAD_MEAN,
  FY_LAYER_NORM_GRAD_RSTD,
  FY_LAYER_NORM_GRAD_WEIGHT
};

#endif
