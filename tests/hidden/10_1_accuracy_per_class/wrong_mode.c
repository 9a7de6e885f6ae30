// mistake: model mode not restored
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool was_training = model->training;
  FyTensor *right = fy_zeros(fy_shape(classes), .device = device), *all = fy_zeros(fy_shape(classes), .device = device);
  FyTensor *numbers = fy_arange((double)classes, .dtype = FY_INT64, .device = device); // (classes)
  fy_eval(model);
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      FyTensor *guess = fy_argmax_dim(fy_forward(model, batch.data), 1, false); // (N)
      FyTensor *own = fy_eq(fy_unsqueeze(batch.target, 1), numbers);            // (N, classes), one true in each row
      FyTensor *hit = fy_unsqueeze(fy_eq(guess, batch.target), 1);              // (N, 1)
      fy_add_(all, fy_sum_dim(own, 0, false));
      fy_add_(right, fy_sum_dim(fy_mul(own, hit), 0, false));
    }
  }
  (void)was_training;
  fy_train(model);
  return fy_div(right, all); // 0 / 0 is NaN
}
