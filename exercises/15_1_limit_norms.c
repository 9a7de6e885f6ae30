// Exercise 15.1: Find the bug: limit the norms     lesson 15 · medium · 20 min
//
// Task      limit_norms is the forward pass of a layer. It scales each row
//           whose norm exceeds `limit` to a norm of `limit`. In PyTorch:
//               norms = x.norm(dim=1, keepdim=True)
//               return x * torch.clamp(limit / norms, max=1)
//           A direct call returns the correct result. A trace from fy_trace is
//           correct for its example, and wrong for most other inputs.
// Example   limit 5, rows (6, 8) and (1, 2)  ->  (3, 4) and (1, 2)
// Fix       limit_norms, so that its trace gives the same result for every x.
// Inputs    x         float32 (rows, columns), both at least 1, on a GPU or
//                     the CPU; rows may be zeros, or have a norm of a million
//                     times limit. The example for the trace has different
//                     values and a different number of rows
//           limit     above 0
// Required  - correct result, called and traced, on the device of x: norms
//             above limit become limit within 1 %, rows of zeros stay zeros,
//             and x does not change
//           - the correct gradient of x (without rows of zeros)
// Stars     ** no copies, no host synchronization
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
