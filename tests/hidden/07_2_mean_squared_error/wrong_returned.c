// mistake: autograd left disabled
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t rows = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_set_grad_enabled(false);
  {
    for (int64_t i = 0; i < rows; i += batch) {
      int64_t end = i + batch < rows ? i + batch : rows;
      fy_scope { // what this batch made goes before the next comes
        FyTensor *y = fy_forward(model, fy_slice(x, 0, i, end, 1));
        fy_add_(total, fy_mse_loss(y, fy_slice(target, 0, i, end, 1), .reduction = FY_REDUCE_SUM));
      }
    }
  }
  return fy_item(total) / (double)fy_numel(target);
}
