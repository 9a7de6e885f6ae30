// mistake: short rows lengthened
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true));
  return fy_mul_scalar(fy_div(x, fy_clamp(norms, 1e-30, 1e30)), limit);
}
