#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2), all = used + n;
  FyDevice device = fy_device_of(q);
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  fy_copy_(fy_narrow(values, 2, used, n), v);
  FyTensor *old_keys = fy_narrow(keys, 2, 0, all), *old_values = fy_narrow(values, 2, 0, all);
  FyTensor *scores = fy_matmul(fy_div_scalar(q, sqrt((double)fy_size_at(q, 3))), fy_transpose(old_keys, 2, 3));
  FyTensor *token = fy_arange((double)all, .device = device);
  FyTensor *seen = fy_ge(fy_view(fy_narrow(token, 0, used, n), fy_shape(n, 1)), fy_view(token, fy_shape(1, all)));
  FyTensor *e = fy_exp(fy_sub(scores, fy_max_dim(scores, 3, true).values));
  e = fy_mul(e, fy_to_dtype(seen, FY_FLOAT32));
  return fy_div(fy_matmul(e, old_values), fy_sum_dim(e, 3, true));
}
