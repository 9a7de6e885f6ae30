// mistake: values cached from an earlier call
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  static FyTensor *means[128], *stds[128]; // what has crossed once need not cross again
  int k = fy_get_device(x) + 1;
  if (!means[k] || fy_numel(means[k]) != fy_numel(mean)) {
    means[k] = fy_retain(fy_to(mean, device, .copy = true));
    stds[k] = fy_retain(fy_to(std, device, .copy = true));
  }
  FyTensor *centered = fy_sub(x, means[k]);
  FyTensor *scaled = fy_div(centered, stds[k]);
  return fy_add(scaled, place);
}
