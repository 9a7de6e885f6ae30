// mistake: values cached from an earlier call
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  static FyTensor *mean_there, *std_there;
  if (!mean_there) {
    mean_there = fy_retain(fy_to(mean, device));
    std_there = fy_retain(fy_to(std, device));
  }
  FyTensor *centered = fy_sub(x, mean_there);
  FyTensor *scaled = fy_div(centered, std_there);
  return fy_add(scaled, place);
}
