// mistake: model mode not restored
// Each call leaves the model in the mode that it did not come in.
#include "ferry.h"

static FyTensor *one_hot(FyTensor *labels, FyTensor *numbers) {
  return fy_float(fy_eq(numbers, fy_unsqueeze(labels, 1)));
}

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  bool mode = model->training;
  FyTensor *numbers = fy_arange((double)classes, .device = device, .dtype = FY_INT64);
  FyTensor *confusion = fy_zeros(fy_shape(classes, classes), .device = device), *shares = NULL;
  fy_eval(model);
  fy_no_grad {
    fy_for_batches(batch, loader) {
      FyTensor *target = fy_to(batch.target, device, .non_blocking = true);
      FyTensor *guess = fy_argmax_dim(fy_forward(model, fy_to(batch.data, device, .non_blocking = true)), 1, false);
      fy_add_(confusion, fy_matmul(fy_transpose(one_hot(target, numbers), 0, 1), one_hot(guess, numbers)));
    }
    FyTensor *diagonal = fy_float(fy_eq(fy_unsqueeze(numbers, 1), numbers));
    shares = fy_div(fy_sum_dim(fy_mul(confusion, diagonal), 1, false), fy_sum_dim(confusion, 1, false));
  }
  fy_set_training_of(model, !mode);
  return shares;
}
