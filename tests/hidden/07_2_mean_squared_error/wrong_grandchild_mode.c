// mistake: left in another mode
#include "ferry.h"
#include <stdlib.h>

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t count = fy_size_at(x, 0);
  double result = 0;
  bool was = model->training, *child_was = calloc((size_t)model->field_count + 1, sizeof(bool));
  for (int f = 0; f < model->field_count; f++)
    if (model->fields[f].kind == FY_CHILD)
      child_was[f] = model->fields[f].module->training;
  fy_eval(model);
  fy_scope {
    fy_no_grad {
      FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
      for (int64_t i = 0; i < count; i += batch) {
        fy_scope {
          int64_t rows = count - i < batch ? count - i : batch;
          FyTensor *y = fy_forward(model, fy_narrow(x, 0, i, rows));
          fy_add_(total, fy_mse_loss(y, fy_narrow(target, 0, i, rows), .reduction = FY_REDUCE_SUM));
        }
      }
      result = fy_item(total) / (double)fy_numel(target);
    }
  }
  model->training = was;
  for (int f = 0; f < model->field_count; f++)
    if (model->fields[f].kind == FY_CHILD)
      fy_set_training_of(model->fields[f].module, child_was[f]);
  free(child_was);
  return result;
}
