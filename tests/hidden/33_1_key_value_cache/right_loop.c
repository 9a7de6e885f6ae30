#include "ferry.h"
#include <math.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2);
  double scale = 1 / sqrt((double)fy_size_at(q, 3));
  FyTensor *out = fy_empty_like(q);
  for (int64_t i = 0; i < n; i++) {
    int64_t length = used + i + 1;
    fy_copy_(fy_select(keys, 2, used + i), fy_select(k, 2, i));
    fy_copy_(fy_select(values, 2, used + i), fy_select(v, 2, i));
    FyTensor *query = fy_mul_scalar(fy_narrow(q, 2, i, 1), scale);
    FyTensor *weights = fy_softmax(fy_matmul(query, fy_transpose(fy_narrow(keys, 2, 0, length), 2, 3)), 3);
    fy_copy_(fy_narrow(out, 2, i, 1), fy_matmul(weights, fy_narrow(values, 2, 0, length)));
  }
  return out;
}
