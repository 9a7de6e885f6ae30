// mistake: training mode not restored
#include "ferry.h"

// The mode before is not looked at: training is taken for granted.
double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t rows = fy_size_at(x, 0);
  double loss = 0;
  fy_eval(model);
  fy_no_grad
    fy_scope {
      FyTensor *sum = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
      for (int64_t i = 0; i < rows; i += batch)
        fy_scope {
          int64_t n = i + batch < rows ? batch : rows - i;
          FyTensor *y = fy_forward(model, fy_narrow(x, 0, i, n));
          fy_add_(sum, fy_mse_loss(y, fy_narrow(target, 0, i, n), .reduction = FY_REDUCE_SUM));
        }
      loss = fy_item(sum) / (double)fy_numel(target);
    }
  fy_train(model);
  return loss;
}
