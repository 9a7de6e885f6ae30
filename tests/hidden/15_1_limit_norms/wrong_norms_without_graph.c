// mistake: norms detached from the graph
#include "ferry.h"

#include <math.h>

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms;
  fy_no_grad {
    norms = fy_sqrt(fy_sum_dim(fy_mul(x, x), 1, true));
  } // (rows, 1)
  FyTensor *factors = fy_mul_scalar(fy_pow_scalar(norms, -1), limit);
  return fy_mul(x, fy_clamp(factors, -INFINITY, 1)); // of short rows, and where the norm is 0: 1
}
