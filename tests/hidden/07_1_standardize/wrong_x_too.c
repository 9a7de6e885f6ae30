// mistake: hard-coded device
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device("cuda:0");
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32, .device = device);
  return fy_add(fy_div(fy_sub(fy_to(x, device), fy_to(mean, device)), fy_to(std, device)), place);
}
