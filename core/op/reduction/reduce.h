// SPDX-License-Identifier: MIT
// What the reductions of the CPU and of CUDA agree on: parameters, and the shape of the work. Plain C.
#ifndef FERRY_OP_REDUCE_H
#define FERRY_OP_REDUCE_H

#include "op/launch.h"

typedef struct FyReduceParams {
  uint32_t dims; // bit d: dimension d is summed away
  bool keepdim;
  bool all; // called without dimensions
} FyReduceParams;

// max, min, argmax, argmin and their forms with a dimension: input row-major, seen as (outer, n, inner).
typedef struct FyExtremumParams {
  int dim; // -1: over all elements
  bool keepdim;
} FyExtremumParams;

typedef struct FyReduceDim {
  int64_t size, stride; // in elements
} FyReduceDim;

// A strided input split into kept dimensions, in the order of the output, and reduced ones. Neighbors that can be walked
// as one are merged; an input that is reduced as a whole has no kept dimension left.
typedef struct FyReducePlan {
  int n_kept, n_reduced;
  int64_t kept_count, reduced_count; // outputs, and inputs per output
  FyReduceDim kept[FY_MAX_DIM], reduced[FY_MAX_DIM];
} FyReducePlan;

static inline void fy_reduce_add_dim(FyReduceDim *list, int *n, int64_t size, int64_t stride) {
  if (size == 1)
    return;
  if (*n && list[*n - 1].stride == size * stride) {
    list[*n - 1].size *= size;
    list[*n - 1].stride = stride;
    return;
  }
  list[(*n)++] = (FyReduceDim){size, stride};
}

static inline FyReducePlan fy_reduce_plan(const FyArray *a, uint32_t dims) {
  FyReducePlan plan;
  plan.n_kept = plan.n_reduced = 0;
  plan.kept_count = plan.reduced_count = 1;
  for (int d = 0; d < a->ndim; d++) {
    if (dims >> d & 1u) {
      fy_reduce_add_dim(plan.reduced, &plan.n_reduced, a->shape[d], a->stride[d]);
      plan.reduced_count *= a->shape[d];
    } else {
      fy_reduce_add_dim(plan.kept, &plan.n_kept, a->shape[d], a->stride[d]);
      plan.kept_count *= a->shape[d];
    }
  }
  // A sum may take its terms in any order: the closest together come last.
  for (int i = 1; i < plan.n_reduced; i++)
    for (int j = i; j > 0 && plan.reduced[j - 1].stride < plan.reduced[j].stride; j--) {
      FyReduceDim swap = plan.reduced[j];
      plan.reduced[j] = plan.reduced[j - 1];
      plan.reduced[j - 1] = swap;
    }
  return plan;
}

// Neighboring outputs are neighbors in memory, and the terms of one output are not: sum rows onto rows.
static inline bool fy_reduce_by_columns(const FyReducePlan *plan) {
  if (!plan->n_kept || !plan->n_reduced)
    return plan->n_kept > 0;
  return plan->kept[plan->n_kept - 1].stride < plan->reduced[plan->n_reduced - 1].stride;
}

#endif
