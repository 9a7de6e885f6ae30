// SPDX-License-Identifier: MIT
// Batch normalization: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_NORM_H
#define FERRY_OP_NORM_H

#include "op/launch.h"

typedef struct FyBatchNormParams {
  int training; // use the batch's statistics, and let the running ones follow
  double momentum, eps;
} FyBatchNormParams;

// x (images, channels, area): a channel's values are `area` long runs, one per image.
typedef struct FyNormShape {
  int64_t images, channels, area;
} FyNormShape;

static inline FyNormShape fy_norm_shape(const FyArray *x) {
  FyNormShape s;
  s.images = x->shape[0];
  s.channels = x->shape[1];
  s.area = 1;
  for (int d = 2; d < x->ndim; d++)
    s.area *= x->shape[d];
  return s;
}

// Kernels' operands. Statistics and parameters are float64 for a float64 x and float32 otherwise.
enum { FY_NORM_X, FY_NORM_WEIGHT, FY_NORM_BIAS, FY_NORM_RUNNING_MEAN, FY_NORM_RUNNING_VAR };
enum { FY_NORM_OUT, FY_NORM_MEAN, FY_NORM_INVSTD };
enum { FY_NORM_GRAD, FY_NORM_GRAD_X, FY_NORM_GRAD_MEAN, FY_NORM_GRAD_INVSTD, FY_NORM_GRAD_WEIGHT };

#endif
