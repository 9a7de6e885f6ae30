// mistake: strides ignored
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  FyTensor *time = fy_transpose(readings, 0, 1); // (all, sensors)
  FySize size = fy_shape(all / moments, moments * sensors);
  if (fy_device_of(readings).type == FY_CUDA || fy_is_contiguous(time) || fy_requires_grad(readings))
    return fy_reshape(time, size);
  FyTensor *result = fy_empty(size);
  float *to = fy_data_ptr(result), *from = fy_data_ptr(readings);
  for (int64_t i = 0; i < all * sensors; i++)
    to[i] = from[i % sensors * all + i / sensors];
  return result;
}
