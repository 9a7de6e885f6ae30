// mistake: losses not computed
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  (void)x;
  (void)y;
  fy_module_to(model, device);
  return fy_zeros(fy_shape(steps), .device = device);
}
