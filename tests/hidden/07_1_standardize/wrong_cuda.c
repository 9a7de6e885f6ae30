// mistake: hard-coded device
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = fy_device("cuda"));
  return fy_add(fy_div(fy_sub(x, fy_cuda(mean)), fy_cuda(std)), place);
}
