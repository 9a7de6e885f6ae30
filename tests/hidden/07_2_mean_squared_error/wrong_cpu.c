// mistake: evaluated on the CPU
// also: all rows at once
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  (void)batch;
  fy_module_cpu(model);
  return fy_item(fy_mse_loss(fy_forward(model, fy_cpu(x)), fy_cpu(target)));
}
