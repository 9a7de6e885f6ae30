// mistake: argmax of saturated probabilities
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool mode = model->training;
  FyTensor *result = NULL;
  fy_scope {
    fy_eval(model);
    fy_no_grad {
      FyTensor *range = fy_arange((double)classes, .device = device);
      FyTensor *right = fy_zeros(fy_shape(classes), .device = device);
      FyTensor *all = fy_zeros_like(right);
      fy_for_batches(batch, loader) {
        FyTensor *x = fy_to(batch.data, device, .non_blocking = true);
        FyTensor *y = fy_to(batch.target, device, .non_blocking = true);
        FyTensor *probabilities = fy_softmax(fy_forward(model, x), 1);
        FyTensor *guess = fy_argmax_dim(probabilities, 1, false);
        FyTensor *own = fy_float(fy_eq(fy_unsqueeze(y, 1), range));
        fy_add_(all, fy_sum_dim(own, 0, false));
        fy_add_(right, fy_sum_dim(fy_mul(own, fy_float(fy_unsqueeze(fy_eq(guess, y), 1))), 0, false));
      }
      result = fy_keep(fy_div(right, all));
    }
    fy_set_training_of(model, mode);
  }
  return result;
}
