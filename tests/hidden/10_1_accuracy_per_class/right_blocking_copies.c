// missing star: blocking copies to the device
// A literal translation of the PyTorch lines; index_add by one-hot rows.
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool was_training = model->training;
  fy_eval(model);
  FyTensor *right = fy_zeros(fy_shape(classes), .device = device);
  FyTensor *all = fy_zeros(fy_shape(classes), .device = device);
  FyTensor *each = fy_arange((double)classes, .dtype = FY_INT64, .device = device);
  fy_no_grad {
    fy_for_batches(batch, loader) {
      FyTensor *data = fy_to(batch.data, device), *target = fy_to(batch.target, device);
      FyTensor *guess = fy_argmax_dim(fy_forward(model, data), 1, false);
      FyTensor *own = fy_eq(fy_unsqueeze(target, 1), each);
      fy_add_(all, fy_sum_dim(fy_float(own), 0, false));
      fy_add_(right, fy_sum_dim(fy_float(fy_mul(own, fy_unsqueeze(fy_eq(guess, target), 1))), 0, false));
    }
  }
  fy_set_training_of(model, was_training);
  return fy_div(right, all);
}
