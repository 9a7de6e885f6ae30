// The optimizer is created first: the parameters stay the same tensors when the module moves.
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.25);
  FyTensor *losses = fy_empty(fy_shape(steps), .device = device), *input = fy_to(x, device), *target = fy_to(y, device);
  fy_module_to(model, device);
  for (int64_t i = 0; i < steps; i++) {
    FyTensor *loss = fy_loss(fy_nn_mse_loss(), fy_forward(model, input), target);
    fy_module_zero_grad(model);
    fy_backward(loss);
    fy_step(optimizer);
    fy_no_grad {
      fy_copy_(fy_narrow(losses, 0, i, 1), loss);
    }
  }
  return losses;
}
