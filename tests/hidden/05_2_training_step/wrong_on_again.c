// mistake: autograd left disabled
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  fy_set_grad_enabled(true);
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  fy_set_grad_enabled(false);
  fy_sub_(weight, fy_mul_scalar(fy_grad(weight), lr));
  fy_sub_(bias, fy_mul_scalar(fy_grad(bias), lr));
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
