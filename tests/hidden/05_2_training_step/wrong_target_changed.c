// mistake: caller's tensor changed
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *output = fy_linear(x, weight, bias), *loss = fy_mse_loss(output, target);
  fy_backward(loss);
  fy_no_grad {
    fy_sub_(target, output); // the error
    fy_sub_(weight, fy_mul_scalar(fy_grad(weight), lr));
    fy_sub_(bias, fy_mul_scalar(fy_grad(bias), lr));
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
