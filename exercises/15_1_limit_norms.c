// Exercise 15.1: find the bug, a frozen branch                            (chapter 15, docs/15_tracing.md)
//
// limit_norms is the forward pass of a layer: rows that are longer than `limit` (their norm, the root of the sum of the
// squares) are shortened to that length, the others stay as they are. Called, it does just that. Traced, it does for
// every input what it did for the example: rows that were long then are shortened, by as much as they were then, and
// there are as many rows as there were.
//
// Mend it: what fy_trace makes of it shall do the same as the function, for every x.
//
//   PyTorch:  norms = x.norm(dim=1, keepdim=True)
//             return x * torch.clamp(limit / norms, max=1)
//
// Given: x (rows, columns), float32, on the CPU or a CUDA device, where some rows may be all zeros, and others a
// million times as long as limit; limit, above 0.
// Returned: a tensor like x, on its device. Rows of zeros stay zeros. x itself stays as it is. Where x
// requires a gradient, called without a trace the function has one for it (rows of zeros apart, where there is none).
// The trace is made with an example of another number of rows, and then run on x.
// Counted, on CUDA: waits and copies between host and device (none is needed).
#include "ferry.h"

#include <math.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  enum { MOST_ROWS = 256 };
  FyTensor *rows[MOST_ROWS];
  const int count = (int)fy_size_at(x, 0);
  for (int i = 0; i < count; i++) {
    FyTensor *row = fy_select(x, 0, i);
    const double norm = sqrt(fy_item(fy_sum(fy_mul(row, row))));
    rows[i] = norm > limit ? fy_mul_scalar(row, limit / norm) : row;
  }
  return fy_stack((FyTensors){.items = rows, .count = count}, 0);
}
