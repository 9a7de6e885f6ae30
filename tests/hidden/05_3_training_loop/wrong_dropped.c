// mistake: caller's tensor freed
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  fy_module_to(model, device);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.25);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device);
  x = fy_to(x, device);
  y = fy_to(y, device);
  for (int64_t i = 0; i < steps; i++) {
    fy_scope {
      FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss));
    }
  }
  fy_drop(x); // the copies on the device
  fy_drop(y);
  return losses;
}
