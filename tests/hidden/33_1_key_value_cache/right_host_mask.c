#include "ferry.h"
#include <math.h>

#include <stdlib.h>

FyTensor *attend(FyTensor *q, FyTensor *k, FyTensor *v, FyTensor *keys, FyTensor *values, int64_t used) {
  int64_t n = fy_size_at(q, 2), all = used + n;
  fy_copy_(fy_narrow(keys, 2, used, n), k);
  fy_copy_(fy_narrow(values, 2, used, n), v);
  FyTensor *scores = fy_matmul(q, fy_transpose(fy_narrow(keys, 2, 0, all), 2, 3));
  scores = fy_div_scalar(scores, sqrt((double)fy_size_at(q, 3)));
  if (n > 1) {
    FyTensor *mask = fy_zeros(fy_shape(n, all));
    float *at = fy_data_ptr(mask);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = used + i + 1; j < all; j++)
        at[i * all + j] = -INFINITY;
    scores = fy_add(scores, fy_to(mask, fy_device_of(q)));
  }
  return fy_matmul(fy_softmax(scores, 3), fy_narrow(values, 2, 0, all));
}
