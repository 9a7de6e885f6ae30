// missing star: cache copied
#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2), D = fy_size_at(q, 3), all = used + n;
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  fy_copy_(fy_narrow(values, 2, used, n), v);
  FyTensor *product = fy_mul(fy_unsqueeze(q, 3), fy_unsqueeze(fy_narrow(keys, 2, 0, all), 2)); // (B, H, n, all, D)
  FyTensor *scores = fy_div_scalar(fy_sum_dim(product, 4, false), sqrt((double)D));
  FyTensor *token = fy_arange((double)all, .device = fy_device_of(q));
  FyTensor *past = fy_le(token, fy_unsqueeze(fy_narrow(token, 0, used, n), 1));
  FyTensor *weights = fy_softmax(fy_where(past, scores, fy_full_like(scores, -INFINITY)), 3);
  return fy_sum_dim(fy_mul(fy_unsqueeze(weights, 4), fy_unsqueeze(fy_narrow(values, 2, 0, all), 2)), 3, false);
}
