// mistake: loop over rows in a trace
#include "ferry.h"
#include <math.h>

// No number is read, but the loop is one of C.
FyTensor *limit_norms(FyTensor *x, double limit) {
  enum { MOST_ROWS = 256 };
  FyTensor *rows[MOST_ROWS];
  const int count = (int)fy_size_at(x, 0);
  for (int i = 0; i < count; i++) {
    FyTensor *row = fy_select(x, 0, i), *norm = fy_sqrt(fy_sum(fy_mul(row, row)));
    rows[i] = fy_mul(row, fy_clamp(fy_mul_scalar(fy_pow_scalar(norm, -1), limit), -INFINITY, 1));
  }
  return fy_stack((FyTensors){.items = rows, .count = count}, 0);
}
