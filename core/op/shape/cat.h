// SPDX-License-Identifier: MIT
// What cat and stack of the CPU and of CUDA agree on. Plain C.
#ifndef FERRY_OP_CAT_H
#define FERRY_OP_CAT_H

#include "op/launch.h"

// Inputs first..n_in-1 go side by side into out, from `offset` on along `dim`. When in place, in[0] is out itself, filled
// as far as `offset` already: how a list longer than FY_MAX_INPUTS is joined with one copy of each tensor.
typedef struct FyCatParams {
  int ndim; // of out, and its whole shape
  int64_t shape[FY_MAX_DIM];
  int dim;
  int first;  // 1 when in place, else 0
  bool stack; // the inputs lack dimension `dim`, and take one place in it each
  uint8_t dtype;
  int64_t offset;
} FyCatParams;

// How far a tensor of this shape reaches along `dim`. By PyTorch's old rule 1-D tensors without elements may stand in the
// list of any cat, and take no place.
static inline int64_t fy_cat_length(const FyCatParams *p, int ndim, const int64_t *shape) {
  if (p->stack)
    return 1;
  return ndim == 1 && shape[0] == 0 ? 0 : shape[p->dim];
}

// The part of `out` from `offset` on that `in` fills, in the shape of `in`.
static inline FyArray fy_cat_slice(const FyArray *out, const FyArray *in, const FyCatParams *p, int element_size,
                                   int64_t offset) {
  FyArray slice = *in;
  slice.data = (char *)out->data + offset * out->stride[p->dim] * element_size;
  for (int d = 0; d < in->ndim; d++)
    slice.stride[d] = out->stride[p->stack && d >= p->dim ? d + 1 : d];
  return slice;
}

#endif
