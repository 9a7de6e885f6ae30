// Micro-batches of almost equal size.
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  int64_t count = fy_size_at(x, 0), groups = (count + rows - 1) / rows;
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  for (int64_t g = 0; g < groups; g++) {
    fy_scope {
      int64_t from = count * g / groups, n = count * (g + 1) / groups - from;
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_narrow(x, 0, from, n)), fy_narrow(target, 0, from, n));
      loss = fy_mul_scalar(loss, (double)n / (double)count);
      fy_backward(loss);
      fy_add_(total, fy_detach(loss));
    }
  }
  return total;
}
