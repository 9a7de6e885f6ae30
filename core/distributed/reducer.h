// SPDX-License-Identifier: MIT
// The reducer of DistributedDataParallel: gradients in buckets, averaged over the ranks while backward goes on. For
// core/distributed only.
#ifndef FERRY_DISTRIBUTED_REDUCER_H
#define FERRY_DISTRIBUTED_REDUCER_H

#include "distributed/impl.h"
#include "tensor/list.h"

typedef struct FyBucket {
  int count;
  int *parameters; // indices, in the order in which they lie in it
  int64_t elements;
  FyTensor *flat; // counted
  int pending;    // parameters whose gradient has not come
  FyWork *work;   // counted, while it is under way
} FyBucket;

typedef struct FyReducer {
  FyGroup *group;
  FyTensorList *parameters; // counted; those that require a gradient
  struct FyGradHookContext **contexts;
  FyTensor **views; // counted: where each gradient lies in its bucket
  int *bucket_of;
  FyBucket *buckets;
  int bucket_count;
  size_t first_bytes, cap_bytes;
  bool find_unused, rebuilt;
  // the present iteration
  bool expecting, unfinished; // hooks are to act; some have, and not all
  bool *ready;
  int32_t *used; // by this rank
  int *arrival, arrived;
  int next_bucket;
} FyReducer;

// All raise what collectives and ops raise, and FY_OUT_OF_MEMORY_ERROR.
FyReducer *fy_reducer_new(FyGroup *group, FyTensorList *parameters, double bucket_cap_mb, bool find_unused);
void fy_reducer_free(FyReducer *r); // never raises
// Before a forward whose backward is to be averaged: buckets made anew after the first. Raises "Expected to have finished ...".
void fy_reducer_prepare_forward(FyReducer *r);
// After it: the hooks wait for gradients, but not for those of parameters that `output` does not depend on.
void fy_reducer_prepare_backward(FyReducer *r, FyTensor *output);

// buckets.c: torch.distributed._compute_bucket_assignment_by_size. The tensors order[0..count) (NULL: 0, 1, ...) of one dtype
// and device go into one bucket until it has limits[k] bytes, k being the bucket's number among its kind, at most limit_count -
// 1. bucket_of[i] becomes the bucket of tensor i and place[i] its place in it; returns how many buckets there are.
int fy_assign_buckets(const FyTensorList *tensors, const int *order, const size_t *limits, int limit_count,
                      int *bucket_of, int *place);

#endif
