// mistake: hard-coded device
// devices: 2
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_is_cuda(x) ? fy_cuda_device(-1) : FY_CPU_DEVICE;
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device); // (columns)
  FyTensor *centered = fy_sub(x, fy_to(mean, device));
  FyTensor *scaled = fy_div(centered, fy_to(std, device));
  return fy_add(scaled, place);
}
