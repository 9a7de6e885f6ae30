// A product with 1 / std, the mean already scaled.
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  FyTensor *std_there = fy_to(std, device);
  FyTensor *scaled = fy_sub(fy_div(x, std_there), fy_div(fy_to(mean, device), std_there));
  return fy_add(scaled, place);
}
