// Three dimensions first: (sensors, frames, moments) as (frames, moments, sensors). The split is a view of any strides.
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), count = fy_size_at(readings, 1) / moments;
  FyTensor *split = fy_view(readings, fy_shape(sensors, count, moments));
  return fy_flatten(fy_permute(split, fy_shape(1, 2, 0)), 1, 2);
}
