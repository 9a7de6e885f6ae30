// The rows are distributed evenly over the batches.
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t rows = fy_size_at(x, 0);
  int64_t batches = (rows + batch - 1) / batch;
  int64_t size = (rows + batches - 1) / batches;
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    for (int64_t i = 0; i < rows; i += size) {
      int64_t length = rows - i < size ? rows - i : size;
      fy_scope {
        FyTensor *y = fy_forward(model, fy_narrow(x, 0, i, length));
        fy_add_(total, fy_mse_loss(y, fy_narrow(target, 0, i, length), .reduction = FY_REDUCE_SUM));
      }
    }
  }
  return fy_item(total) / (double)fy_numel(target);
}
