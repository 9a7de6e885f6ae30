// mistake: loss computed after the update
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  fy_module_to(model, device);
  FyTensor *input = fy_to(x, device), *target = fy_to(y, device);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.25);
  for (int64_t step = 0; step < steps; step++) {
    fy_scope {
      FyTensor *before = fy_mse_loss(fy_forward(model, input), target);
      fy_zero_grad(optimizer);
      fy_backward(before);
      fy_step(optimizer);
      FyTensor *after = fy_mse_loss(fy_forward(model, input), target);
      fy_copy_(fy_narrow(losses, 0, step, 1), fy_detach(after));
    }
  }
  return losses;
}
