// SPDX-License-Identifier: MIT
// Walking several arrays of different strides together: what pointwise kernels of both devices stand on.
//
// An FyIter holds operands broadcast to one shape. Finishing it drops dimensions of size 1 and merges neighbors that are
// contiguous in every operand, so that most calls become one loop:
//
//   FyIter iter;
//   fy_iter_of(&iter, launch->out[0], launch->n_in, launch->in);
//   fy_iter_run(&iter, FY_ITER_GRAIN, loop, &context);
#ifndef FERRY_OP_ITER_H
#define FERRY_OP_ITER_H

#include "op/launch.h"

enum { FY_ITER_OPERANDS = 6, FY_ITER_GRAIN = 16384 };

typedef struct FyIter {
  int n;         // operands; the output is usually operand 0
  int ndim;      // at least 1; dimension 0 is the outermost
  int64_t numel; // of the common shape
  int64_t shape[FY_MAX_DIM];
  int64_t stride[FY_ITER_OPERANDS][FY_MAX_DIM]; // in elements, 0 where broadcast
  char *data[FY_ITER_OPERANDS];
  int size[FY_ITER_OPERANDS]; // bytes per element
} FyIter;

static inline void fy_iter_begin(FyIter *iter, int ndim, const int64_t *shape) {
  iter->n = 0;
  iter->ndim = ndim;
  iter->numel = 1;
  for (int d = 0; d < ndim; d++) {
    iter->shape[d] = shape[d];
    iter->numel *= shape[d];
  }
}

// Adds an operand whose shape broadcasts to that of the iterator.
static inline void fy_iter_add(FyIter *iter, const FyArray *a) {
  const int k = iter->n++;
  const int missing = iter->ndim - a->ndim;
  iter->data[k] = (char *)a->data;
  iter->size[k] = (int)fy_dtype_size(a->dtype);
  for (int d = 0; d < iter->ndim; d++)
    iter->stride[k][d] = d < missing || a->shape[d - missing] == 1 ? 0 : a->stride[d - missing];
}

// Adds an operand of one element at `value`, an element of `size` bytes.
static inline void fy_iter_add_value(FyIter *iter, const void *value, int size) {
  const int k = iter->n++;
  iter->data[k] = (char *)(uintptr_t)value;
  iter->size[k] = size;
  for (int d = 0; d < iter->ndim; d++)
    iter->stride[k][d] = 0;
}

static inline void fy_iter_swap(FyIter *iter, int d, int e) {
  const int64_t size = iter->shape[d];
  iter->shape[d] = iter->shape[e];
  iter->shape[e] = size;
  for (int k = 0; k < iter->n; k++) {
    const int64_t stride = iter->stride[k][d];
    iter->stride[k][d] = iter->stride[k][e];
    iter->stride[k][e] = stride;
  }
}

static inline bool fy_iter_mergeable(const FyIter *iter, int outer, int inner) {
  for (int k = 0; k < iter->n; k++)
    if (iter->stride[k][outer] != iter->stride[k][inner] * iter->shape[inner])
      return false;
  return true;
}

// Drops and merges dimensions. With `reorder` the order of the elements is free: dimensions are sorted by the strides of
// operand 0, so that writes go through memory in order even if it is a transposed view.
static inline void fy_iter_finish(FyIter *iter, bool reorder) {
  int kept = 0;
  for (int d = 0; d < iter->ndim; d++)
    if (iter->shape[d] != 1)
      fy_iter_swap(iter, d, kept++);
  if (reorder)
    for (int d = 1; d < kept; d++)
      for (int e = d; e > 0 && iter->stride[0][e - 1] < iter->stride[0][e]; e--)
        fy_iter_swap(iter, e - 1, e);
  int last = 0;
  for (int d = 1; d < kept; d++) {
    if (fy_iter_mergeable(iter, last, d)) {
      iter->shape[last] *= iter->shape[d];
      for (int k = 0; k < iter->n; k++)
        iter->stride[k][last] = iter->stride[k][d];
    } else {
      fy_iter_swap(iter, ++last, d);
    }
  }
  if (kept == 0) {
    iter->shape[0] = 1;
    for (int k = 0; k < iter->n; k++)
      iter->stride[k][0] = 0;
  }
  iter->ndim = last + 1;
}

// The iterator of a pointwise call: out, then the n inputs, broadcast to out's shape, in any order of elements.
static inline void fy_iter_of(FyIter *iter, const FyArray *out, int n, const FyArray *const *in) {
  fy_iter_begin(iter, out->ndim, out->shape);
  fy_iter_add(iter, out);
  for (int i = 0; i < n; i++)
    fy_iter_add(iter, in[i]);
  fy_iter_finish(iter, true);
}

// The strides of the innermost dimension are all 1 or, for the inputs, 0, and there is no other dimension.
static inline bool fy_iter_is_flat(const FyIter *iter) {
  if (iter->ndim != 1 || (iter->stride[0][0] != 1 && iter->numel > 1))
    return false;
  for (int k = 1; k < iter->n; k++)
    if (iter->stride[k][0] != 1 && iter->stride[k][0] != 0)
      return false;
  return true;
}

#ifndef __cplusplus
// A run of n elements: operand k's are at data[k], stride[k] elements apart.
typedef void FyLoop(char *const *data, const int64_t *stride, int64_t n, const void *context);

// Iterations below which work stays on one thread: for arithmetic at memory speed, vectorized functions, libm's functions.
enum { FY_GRAIN_CHEAP = 32768, FY_GRAIN_FUNCTION = 8192, FY_GRAIN_LIBM = 2048 };

// Calls `loop` on runs that cover all elements, on several threads when there are more than `grain`.
void fy_iter_run(const FyIter *iter, int64_t grain, FyLoop *loop, const void *context);

// fy_iter_of and fy_iter_run in one, with a short way for small contiguous arrays.
void fy_iter_pointwise(const FyArray *out, int n, const FyArray *const *in, int64_t grain, FyLoop *loop,
                       const void *context);
#endif

#endif
