// SPDX-License-Identifier: MIT
// Pooling over planes: parameters and geometry, plain C, shared by pool.c and pool.cu.
#ifndef FERRY_OP_POOL_H
#define FERRY_OP_POOL_H

#include "op/launch.h"

typedef struct FyPool2dParams {
  int kernel, stride, padding;
  int ndim; // backward: shape of the input
  int64_t shape[4];
} FyPool2dParams;

// Planes (h, w) are pooled to (oh, ow), each by itself: a plane is a channel of an image.
typedef struct FyPoolShape {
  int64_t planes, h, w, oh, ow;
  int kernel, stride, padding;
} FyPoolShape;

static inline int64_t fy_pool_out_size(const FyPool2dParams *p, int64_t size) {
  int64_t room = size + 2 * p->padding - p->kernel;
  return room < 0 ? -((-room + p->stride - 1) / p->stride) + 1 : room / p->stride + 1;
}

static inline FyPoolShape fy_pool_shape(const FyPool2dParams *p, int ndim, const int64_t *input) {
  FyPoolShape s;
  s.planes = 1;
  for (int d = 0; d < ndim - 2; d++)
    s.planes *= input[d];
  s.h = input[ndim - 2];
  s.w = input[ndim - 1];
  s.oh = fy_pool_out_size(p, s.h);
  s.ow = fy_pool_out_size(p, s.w);
  s.kernel = p->kernel;
  s.stride = p->stride;
  s.padding = p->padding;
  return s;
}

#endif
