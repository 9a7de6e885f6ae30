// missing star: one transfer per element
#include "ferry.h"

static FyTensor *carried(FyTensor *values, FyDevice device) {
  FyTensor *there = fy_zeros(fy_size(values), .device = device);
  for (int64_t i = 0; i < fy_numel(values); i++)
    fy_copy_(fy_select(there, 0, i), fy_select(values, 0, i));
  return there;
}

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device);
  return fy_add(fy_div(fy_sub(x, carried(mean, device)), carried(std, device)), place);
}
