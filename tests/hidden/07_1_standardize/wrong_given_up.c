// mistake: caller's tensor freed
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  FyTensor *there = fy_to(mean, device), *centered = fy_sub(x, there);
  FyTensor *scaled = fy_div(centered, fy_to(std, device));
  FyTensor *result = fy_add(scaled, place);
  fy_drop(there);
  return result;
}
