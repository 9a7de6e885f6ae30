#include "ferry.h"

static void step(FyModule *model, FyTensor *x, FyTensor *y, FyOptimizer *optimizer, FyTensor *element) {
  FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  fy_no_grad {
    fy_copy_(element, loss);
  }
}

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  FyTensor *losses = fy_zeros(fy_shape(fy_size_at(x, 0)), .device = fy_device_of(x));
  fy_scope {
    FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = lr);
    for (int64_t i = 0; i < fy_size_at(x, 0); i++) {
      fy_scope {
        step(model, fy_select(x, 0, i), fy_select(y, 0, i), optimizer, fy_select(losses, 0, i));
      }
    }
  }
  return losses;
}
