// mistake: nothing returned
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  (void)x;
  (void)y;
  (void)steps;
  fy_module_to(model, device);
  return NULL;
}
