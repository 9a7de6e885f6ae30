// mistake: caller's tensor changed
#include "ferry.h"
#include <math.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true));
  return fy_mul_(x, fy_clamp(fy_mul_scalar(fy_pow_scalar(norms, -1), limit), -INFINITY, 1));
}
