// x with gaps is packed first, where it is.
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *packed = fy_clone(fy_contiguous(x));
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = fy_device_of(x));
  packed = fy_div(fy_sub(packed, fy_to(mean, fy_device_of(x))), fy_to(std, fy_device_of(x)));
  return fy_add(packed, place);
}
