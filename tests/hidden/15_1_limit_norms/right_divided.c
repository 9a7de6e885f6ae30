#include "ferry.h"
#include <math.h>

// Divides each row by its length in units of the limit, and at least by 1.
FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *squares = fy_sum_dim(fy_mul(x, x), -1, true);
  return fy_div(x, fy_clamp(fy_div_scalar(fy_sqrt(squares), limit), 1, INFINITY));
}
