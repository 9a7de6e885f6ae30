// SPDX-License-Identifier: MIT
// A linear layer on packed weights, float32 on the CPU: for trace/ only.
#ifndef FERRY_TRACE_DENSE_H
#define FERRY_TRACE_DENSE_H

#include "trace/panels.h"

// y (rows, out) = x (rows, in) times the packed weight, plus bias, cut off at zero where `relu`.
typedef struct FyDense {
  int64_t in, out;
  bool relu;
  float *packed; // [panel][in][FY_PANEL], zeros for outputs that are not there
  float *bias;   // [panels * FY_PANEL]
} FyDense;

// Elements of `packed` and `bias`.
static inline int64_t fy_dense_packed_size(int64_t in, int64_t out) {
  return fy_panels(out) * in * FY_PANEL;
}

// Fills the two from a row-major weight (out, in) and a bias (out) or NULL. Input k of the packed one is input order[k] of the
// weight, or none where that is negative; NULL: they are the same.
void fy_dense_pack(FyDense *d, const float *weight, const float *bias, int64_t weight_in, const int64_t *order);

// The panels [begin, end) of all rows; x and y have the leading dimensions ldx and ldy. One row is summed in four parts, so its
// results may differ from those of several in the last bits. Any thread.
void fy_dense_panels(const FyDense *d, int64_t rows, const float *x, int64_t ldx, float *y, int64_t ldy, int64_t begin,
                     int64_t end);

#endif
