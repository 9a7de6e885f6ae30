// mistake: parameters copied instead of moved
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *p[4];
  for (int i = 0; i < 4; i++)
    p[i] = fy_set_requires_grad(fy_clone(fy_detach(fy_to(parameters->items[i], device))), true);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device);
  x = fy_to(x, device);
  y = fy_to(y, device);
  for (int64_t i = 0; i < steps; i++) {
    FyTensor *loss = fy_mse_loss(fy_linear(fy_relu(fy_linear(x, p[0], p[1])), p[2], p[3]), y);
    fy_backward(loss);
    fy_no_grad {
      for (int k = 0; k < 4; k++) {
        fy_sub_(p[k], fy_mul_scalar(fy_grad(p[k]), 0.25));
        fy_set_grad(p[k], NULL);
      }
    }
    fy_copy_(fy_select(losses, 0, i), fy_detach(loss));
  }
  return losses;
}
