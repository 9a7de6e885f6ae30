// SPDX-License-Identifier: MIT
// What index_select, index_add and embedding of the CPU and of CUDA agree on. Plain C.
#ifndef FERRY_OP_INDEX_H
#define FERRY_OP_INDEX_H

#include "op/launch.h"

typedef struct FyIndexParams {
  int dim; // of the tensor that is indexed; 0 for embedding
} FyIndexParams;

// index_select: in a (outer, n, inner), index (k); out (outer, k, inner).
// index_add: in a (outer, n, inner), index (k), source (outer, k, inner); out as a, may be a's own memory.
// embedding: in indices (*), weight (n, inner); out (*, inner).
// All row-major; indices int64 or int32.
typedef struct FyIndexShape {
  int64_t outer, n, inner, k;
} FyIndexShape;

static inline FyIndexShape fy_index_shape(const FyArray *a, int dim, const FyArray *index) {
  FyIndexShape s = {1, 1, 1, index->numel};
  for (int d = 0; d < a->ndim; d++)
    *(d < dim ? &s.outer : d == dim ? &s.n : &s.inner) *= a->shape[d];
  return s;
}

#endif
