// mistake: missing column number
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyDevice device = fy_device_of(x);
  return fy_div(fy_sub(x, fy_to(mean, device)), fy_to(std, device));
}
