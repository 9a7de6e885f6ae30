// mistake: scores squeezed with one class
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool was = model->training;
  FyTensor *share = NULL;
  fy_eval(model);
  fy_scope {
    fy_no_grad {
      FyTensor *right = fy_zeros(fy_shape(classes), .device = device),
               *all = fy_zeros(fy_shape(classes), .device = device);
      FyTensor *numbers = fy_arange((double)classes, .dtype = FY_INT64, .device = device);
      fy_for_batches(batch, loader) {
        FyTensor *target = fy_to(batch.target, device, .non_blocking = true);
        FyTensor *scores = fy_forward(model, fy_to(batch.data, device, .non_blocking = true));
        FyTensor *guess = fy_argmax_dim(fy_squeeze(scores), -1, false);
        FyTensor *own = fy_eq(fy_unsqueeze(target, 1), numbers); // (N, classes)
        FyTensor *hit = fy_unsqueeze(fy_eq(guess, target), 1);   // (N, 1)
        fy_add_(all, fy_sum_dim(own, 0, false));
        fy_add_(right, fy_sum_dim(fy_mul(own, hit), 0, false));
      }
      share = fy_keep(fy_div(right, all));
    }
  }
  fy_set_training_of(model, was);
  return share;
}
