// mistake: values cached from an earlier call
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  static FyTensor *known_mean;
  if (!known_mean)
    known_mean = fy_retain(fy_clone(mean));
  FyTensor *centered = fy_sub(x, fy_to(known_mean, device));
  FyTensor *scaled = fy_div(centered, fy_to(std, device));
  return fy_add(scaled, place);
}
