#include "ferry.h"

FyTensor *limit_norms(FyTensor *x, double limit) {
  FyTensor *norms = fy_sqrt(fy_sum_dim(fy_pow_scalar(x, 2), 1, true));
  FyTensor *most = fy_number(limit);
  return fy_where(fy_gt(norms, most), fy_mul(fy_div(x, norms), most), x);
}
