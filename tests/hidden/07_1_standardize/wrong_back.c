// mistake: copy back to the host
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32);
  FyTensor *result = fy_add(fy_div(fy_sub(fy_cpu(x), mean), std), place);
  return fy_to(result, fy_device_of(x));
}
