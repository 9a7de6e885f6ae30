// mistake: hard-coded sizes
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  (void)moments;
  FyTensor *time = fy_stack(fy_list(fy_select(readings, 0, 0), fy_select(readings, 0, 1)), 1); // (all, 2)
  FyTensor *even = fy_slice(time, 0, 0, fy_size_at(time, 0) / 2 * 2, 1);
  return fy_view(even, fy_shape(-1, 4));
}
