// mistake: static state of an earlier call
#include "ferry.h"

FyTensor *accuracy_per_class(FyModule *model, FyDataLoader *loader, int64_t classes, FyDevice device) {
  const bool came = model->training;
  FyTensor *shares = NULL;
  fy_eval(model);
  int scope = fy_scope_open();
  fy_no_grad {
    static FyTensor *numbers; // (classes)
    if (!numbers)
      numbers = fy_retain(fy_arange((double)classes, .dtype = FY_INT64, .device = device));
    FyTensor *known = fy_zeros(fy_shape(classes), .dtype = FY_INT64, .device = device);
    FyTensor *there = fy_zeros(fy_shape(classes), .dtype = FY_INT64, .device = device);
    fy_for_batches(batch, loader) {
      FyTensor *data = fy_to(batch.data, device, .non_blocking = true);
      FyTensor *target = fy_to(batch.target, device, .non_blocking = true);
      FyTensor *guess = fy_argmax_dim(fy_forward(model, data), 1, false);
      FyTensor *hit = fy_where(fy_eq(guess, target), target, fy_full_like(target, -1)); // -1 is no class
      fy_add_(there, fy_sum_dim(fy_eq(fy_unsqueeze(target, 1), numbers), 0, false));
      fy_add_(known, fy_sum_dim(fy_eq(fy_unsqueeze(hit, 1), numbers), 0, false));
    }
    shares = fy_keep(fy_div(known, there));
  }
  fy_scope_close(scope);
  fy_set_training_of(model, came);
  return shares;
}
