// mistake: one update for all batches
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  int64_t batches = fy_size_at(x, 0);
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *losses = fy_zeros(fy_shape(batches), .device = fy_device_of(x));
  for (int64_t i = 0; i < batches; i++) { // all losses first, and then all gradients at once
    fy_copy_(fy_select(losses, 0, i), fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i)));
  }
  fy_backward(fy_sum(losses));
  for (int i = 0; i < parameters->count; i++) {
    fy_no_grad {
      fy_sub_(parameters->items[i], fy_mul_scalar(fy_grad(parameters->items[i]), lr));
    }
    fy_set_grad(parameters->items[i], NULL);
  }
  return fy_detach(losses);
}
