// missing star: tensor created on the CPU and copied
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  FyTensor *place = fy_to(fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32), device);
  return fy_add(fy_div(fy_sub(x, fy_to(mean, device)), fy_to(std, device)), place);
}
