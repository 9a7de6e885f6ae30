// mistake: out-of-bounds index
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  FyTensor *parts[64], *targets[64];
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  int chunks = (int)((fy_size_at(x, 0) + rows - 1) / rows);
  for (int i = 0; i < chunks; i++) {
    int64_t from = i * rows, to = i + 1 < chunks ? from + rows : fy_size_at(x, 0);
    parts[i] = fy_slice(x, 0, from, to, 1);
    targets[i] = fy_slice(target, 0, from, to, 1);
  }
  for (int i = 0; i < chunks; i++) {
    fy_scope {
      FyTensor *error = fy_sub(fy_forward(model, parts[i]), targets[i]);
      FyTensor *loss = fy_div_scalar(fy_sum(fy_mul(error, error)), (double)fy_numel(target));
      fy_backward(loss);
      fy_no_grad {
        fy_add_(total, loss);
      }
    }
  }
  return total;
}
