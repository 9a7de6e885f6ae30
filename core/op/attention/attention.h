// SPDX-License-Identifier: MIT
// Attention: parameters and geometry, plain C, shared by the CPU and CUDA sources.
#ifndef FERRY_OP_ATTENTION_H
#define FERRY_OP_ATTENTION_H

#include "op/launch.h"

typedef struct FyAttentionParams {
  int is_causal; // query i sees keys 0 to i only
  double scale;  // of the scores
} FyAttentionParams;

// query (batches, l, e), key (batches, s, e), value (batches, s, ev)
typedef struct FyAttentionShape {
  int64_t batches, l, s, e, ev;
} FyAttentionShape;

static inline FyAttentionShape fy_attention_shape(const FyArray *query, const FyArray *key, const FyArray *value) {
  FyAttentionShape s = {1, query->shape[query->ndim - 2], key->shape[key->ndim - 2], key->shape[key->ndim - 1],
                        value->shape[value->ndim - 1]};
  for (int d = 0; d < query->ndim - 2; d++)
    s.batches *= query->shape[d];
  return s;
}

// Kernels' operands. lse (batches, l) is float64 for float64 and float32 otherwise.
enum { FY_ATTENTION_QUERY, FY_ATTENTION_KEY, FY_ATTENTION_VALUE };
enum { FY_ATTENTION_OUT, FY_ATTENTION_LSE };
// After query, key and value, the backward has these.
enum { FY_ATTENTION_GRAD = 3, FY_ATTENTION_GRAD_OUT, FY_ATTENTION_GRAD_LSE };

#endif
