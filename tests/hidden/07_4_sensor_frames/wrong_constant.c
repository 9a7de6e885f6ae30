// mistake: a constant in place of the result
#include "ferry.h"

FyTensor *frames(FyTensor *readings, int64_t moments) {
  int64_t sensors = fy_size_at(readings, 0), all = fy_size_at(readings, 1);
  return fy_zeros(fy_shape(all / moments, moments * sensors), .device = fy_device_of(readings));
}
