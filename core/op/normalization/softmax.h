// SPDX-License-Identifier: MIT
// What the softmax kernels of the CPU and of CUDA agree on. Plain C.
#ifndef FERRY_OP_SOFTMAX_H
#define FERRY_OP_SOFTMAX_H

#include "op/launch.h"

typedef struct FySoftmaxParams {
  int dim;
} FySoftmaxParams;

// A row-major array seen as (outer, n, inner), n along the dimension of the softmax.
typedef struct FySoftmaxShape {
  int64_t outer, n, inner;
} FySoftmaxShape;

enum { FY_SHORT_ROW = 1024 }; // of a long one, CUDA's kernels take a block for each

static inline FySoftmaxShape fy_softmax_shape(const FyArray *a, int dim) {
  FySoftmaxShape s = {1, 1, 1};
  for (int d = 0; d < a->ndim; d++) {
    if (d < dim)
      s.outer *= a->shape[d];
    else if (d == dim)
      s.n = a->shape[d];
    else
      s.inner *= a->shape[d];
  }
  return s;
}

#endif
