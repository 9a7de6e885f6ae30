// mistake: catastrophic cancellation
#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true)); // (rows, 1)
  FyTensor *factors = fy_mul_scalar(fy_pow_scalar(norms, -1), limit);
  return fy_mul(x, fy_add_scalar(fy_neg(fy_relu(fy_add_scalar(fy_neg(factors), 1))), 1));
}
