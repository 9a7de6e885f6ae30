#include "ferry.h"
#include <math.h>

// Divided by how many limits a row is long, and by 1 at least.
FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *squares = fy_sum_dim(fy_mul(x, x), -1, true);
  return fy_div(x, fy_clamp(fy_div_scalar(fy_sqrt(squares), limit), 1, INFINITY));
}
