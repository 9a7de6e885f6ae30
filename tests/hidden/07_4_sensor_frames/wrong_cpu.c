// mistake: round trip to the host
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  FyTensor *time = fy_contiguous(fy_transpose(fy_cpu(readings), 0, 1));
  return fy_to(fy_view(time, fy_shape(all / moments, moments * sensors)), fy_device_of(readings));
}
