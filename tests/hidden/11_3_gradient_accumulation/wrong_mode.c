// mistake: training mode not restored
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  int64_t count = fy_size_at(x, 0);
  fy_eval(model);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  for (int64_t i = 0; i < count; i += rows) {
    fy_scope { // the graph of a group ends with it
      int64_t n = i + rows < count ? rows : count - i;
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_narrow(x, 0, i, n)), fy_narrow(target, 0, i, n));
      loss = fy_mul_scalar(loss, (double)n / (double)count); // by the group's share of the samples
      fy_backward(loss);
      fy_add_(total, fy_detach(loss));
    }
  }
  return total;
}
