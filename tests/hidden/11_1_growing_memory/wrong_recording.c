// mistake: autograd left disabled
#include "ferry.h"

// Each parameter less lr times its gradient, and no gradient afterwards. Nothing is wrong here.
static void descend(FyTensorList *parameters, double lr) {
  for (int i = 0; i < parameters->count; i++) {
    FyTensor *p = parameters->items[i];
    fy_no_grad {
      fy_sub_(p, fy_mul_scalar(fy_grad(p), lr));
    }
    fy_set_grad(p, NULL);
  }
}

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  int64_t batches = fy_size_at(x, 0);
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *losses = fy_zeros(fy_shape(batches), .device = fy_device_of(x));
  for (int64_t i = 0; i < batches; i++) {
    fy_scope { // what is made in a step ends with it
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i));
      fy_backward(loss);
      descend(parameters, lr);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss)); // the number, and not its graph
    }
  }
  fy_set_grad_enabled(false);
  return losses;
}
