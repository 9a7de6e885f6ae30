// mistake: training mode not restored
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t rows = fy_size_at(x, 0);
  bool training = model->training;
  fy_eval(model);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    for (int64_t i = 0; i < rows; i += batch) {
      int64_t end = i + batch < rows ? i + batch : rows;
      fy_scope {
        FyTensor *y = fy_forward(model, fy_slice(x, 0, i, end, 1));
        FyTensor *loss = fy_mse_loss(y, fy_slice(target, 0, i, end, 1), .reduction = FY_REDUCE_SUM);
        fy_add_(total, loss);
      }
    }
  }
  double sum = fy_item(total);
  fy_set_training_of(model, training);
  return sum / (double)fy_numel(target);
}
