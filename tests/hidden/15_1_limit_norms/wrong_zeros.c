// mistake: division by zero
#include "ferry.h"
#include <math.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true));
  return fy_mul(fy_div(x, norms), fy_clamp(norms, -INFINITY, limit));
}
