// missing star: host synchronization
#include "ferry.h"
#include <math.h>
#include <stdio.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true));
  if (fy_item(fy_max(norms)) > 1e6 * limit)
    fprintf(stderr, "a very long row\n");
  return fy_mul(x, fy_clamp(fy_mul_scalar(fy_pow_scalar(norms, -1), limit), -INFINITY, 1));
}
