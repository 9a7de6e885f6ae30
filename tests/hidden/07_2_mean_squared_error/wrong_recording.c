// mistake: autograd left enabled
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t count = fy_size_at(x, 0);
  double result = 0;
  fy_scope {
    FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
    fy_set_grad_enabled(false);
    {
      for (int64_t i = 0; i < count; i += batch) {
        fy_scope {
          int64_t rows = count - i < batch ? count - i : batch;
          FyTensor *output = fy_forward(model, fy_narrow(x, 0, i, rows));
          fy_add_(total, fy_mse_loss(output, fy_narrow(target, 0, i, rows), .reduction = FY_REDUCE_SUM));
        }
      }
    }
    fy_set_grad_enabled(true);
    result = fy_item(total) / (double)fy_numel(target);
  }
  return result;
}
