// mistake: device mismatch
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device);
  FyTensor *centered = fy_sub(x, fy_to(mean, device));
  return fy_add(fy_div(centered, std), place);
}
