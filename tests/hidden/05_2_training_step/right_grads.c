// fy_autograd_grad instead of fy_backward, and an update of detached tensors.
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *outputs = fy_add(fy_matmul(x, fy_t(weight)), bias);
  FyTensor *error = fy_sub(outputs, target);
  FyTensor *loss = fy_mean(fy_mul(error, error));
  FyTensor *gradients[2];
  fy_autograd_grad(loss, fy_list(weight, bias), NULL, false, gradients);
  fy_add_(fy_detach(weight), fy_mul_scalar(gradients[0], -lr));
  fy_add_(fy_detach(bias), fy_mul_scalar(gradients[1], -lr));
  return fy_detach(loss);
}
