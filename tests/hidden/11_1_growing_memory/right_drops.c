#include "ferry.h"

// Without a scope: everything that is made is dropped by hand.
static void descend(FyTensor *p, double lr) {
  FyTensor *step = fy_mul_scalar(fy_grad(p), lr);
  fy_no_grad {
    fy_sub_(p, step);
  }
  fy_drop(step);
  fy_set_grad(p, NULL);
}

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  int64_t batches = fy_size_at(x, 0);
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *losses = fy_empty(fy_shape(batches), .device = fy_device_of(x));
  for (int64_t i = 0; i < batches; i++) {
    FyTensor *input = fy_select(x, 0, i), *target = fy_select(y, 0, i), *element = fy_select(losses, 0, i);
    FyTensor *output = fy_forward(model, input);
    FyTensor *loss = fy_mse_loss(output, target);
    fy_backward(loss);
    fy_no_grad {
      fy_copy_(element, loss);
    }
    fy_drop(loss);
    fy_drop(output);
    fy_drop(element);
    fy_drop(target);
    fy_drop(input);
    for (int k = 0; k < parameters->count; k++) {
      descend(parameters->items[k], lr);
    }
  }
  return losses;
}
