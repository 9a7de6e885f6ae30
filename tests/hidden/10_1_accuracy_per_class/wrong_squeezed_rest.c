// mistake: batch of one sample squeezed
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  FyTensor *right = fy_zeros(fy_shape(classes), .device = device), *all = fy_zeros(fy_shape(classes), .device = device);
  FyTensor *each = fy_arange((double)classes, .dtype = FY_INT64, .device = device);
  bool training = model->training;
  fy_eval(model);
  fy_no_grad {
    fy_for_batches(batch, loader) {
      FyTensor *data = fy_to(batch.data, device, .non_blocking = true);
      FyTensor *target = fy_to(batch.target, device, .non_blocking = true);
      FyTensor *guess = fy_argmax_dim(fy_forward(model, data), 1, false);
      FyTensor *own = fy_eq(fy_unsqueeze(target, 1), each);
      FyTensor *hit = fy_unsqueeze(fy_eq(guess, target), 1);
      fy_add_(all, fy_sum_dim(fy_squeeze(own), 0, false));
      fy_add_(right, fy_sum_dim(fy_mul(fy_float(own), fy_float(hit)), 0, false));
    }
  }
  fy_set_training_of(model, training);
  return fy_div(right, all);
}
