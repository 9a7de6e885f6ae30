// mistake: caller's tensor changed
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  FyTensor *centered = fy_sub_(x, fy_to(mean, device));
  FyTensor *scaled = fy_div(centered, fy_to(std, device));
  return fy_add(scaled, place);
}
