// A small number keeps the division from zero, as in PyTorch's clip_grad_norm_.
#include "ferry.h"

#include <math.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true)); // (rows, 1)
  FyTensor *factors = fy_mul_scalar(fy_pow_scalar(fy_add_scalar(norms, 1e-6), -1), limit);
  return fy_mul(x, fy_clamp(factors, -INFINITY, 1));
}
