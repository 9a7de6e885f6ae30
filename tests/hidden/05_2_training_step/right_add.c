// Adds the negative step, and computes the loss as a mean of squares.
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *error = fy_sub(fy_add(fy_matmul(x, fy_transpose(weight, 0, 1)), bias), target);
  FyTensor *loss = fy_mean(fy_mul(error, error));
  fy_backward(loss);
  fy_no_grad {
    fy_add_(weight, fy_mul_scalar(fy_grad(weight), -lr));
    fy_add_(bias, fy_mul_scalar(fy_grad(bias), -lr));
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
