#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2), context = fy_size_at(keys, 2);
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  fy_copy_(fy_narrow(values, 2, used, n), v);
  FyTensor *scores = fy_mul_scalar(fy_matmul(q, fy_transpose(keys, 2, 3)), pow((double)fy_size_at(q, 3), -0.5));
  FyTensor *key = fy_arange((double)context, .device = fy_device_of(q));
  FyTensor *query = fy_add_scalar(fy_arange((double)n, .device = fy_device_of(q)), (double)used);
  FyTensor *hidden = fy_gt(key, fy_unsqueeze(query, 1));
  return fy_matmul(fy_softmax(fy_where(hidden, fy_full_like(scores, -INFINITY), scores), 3), values);
}
