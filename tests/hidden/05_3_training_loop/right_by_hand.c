// Updates the parameters in fy_no_grad, without an optimizer. Moves the model in every step, which copies nothing
// later.
#include "ferry.h"

static void descend(FyTensorList *parameters) {
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++) {
      fy_sub_(parameters->items[i], fy_mul_scalar(fy_grad(parameters->items[i]), 0.25));
      fy_set_grad(parameters->items[i], NULL);
    }
  }
}

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device);
  fy_module_to(model, device);
  x = fy_to(x, device);
  y = fy_to(y, device);
  for (int64_t i = 0; i < steps; i++) {
    fy_module_to(model, device);
    FyTensor *loss = fy_mean(fy_pow_scalar(fy_sub(fy_forward(model, x), y), 2));
    fy_backward(loss);
    descend(fy_parameters(model));
    fy_copy_(fy_select(losses, 0, i), fy_detach(loss));
  }
  return losses;
}
