// mistake: rest of the cache changed
#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2), D = fy_size_at(q, 3), all = used + n;
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  FyTensor *old = fy_clone(values);
  fy_copy_(fy_narrow(values, 2, 0, n), v);
  FyTensor *scores = fy_matmul(q, fy_transpose(fy_narrow(keys, 2, 0, all), -2, -1));
  scores = fy_mul_scalar(scores, 1 / sqrt((double)D));
  FyTensor *column = fy_arange((double)all, .device = fy_device_of(q));
  FyTensor *row = fy_unsqueeze(fy_narrow(column, 0, used, n), 1);
  FyTensor *hidden = fy_gt(fy_unsqueeze(column, 0), row);
  scores = fy_where(hidden, fy_full_like(scores, -INFINITY), scores);
  return fy_matmul(fy_softmax(scores, -1), fy_cat(fy_list(fy_narrow(old, 2, 0, used), v), 2));
}
