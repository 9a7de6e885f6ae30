// mistake: parameters not updated in place
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  fy_no_grad {
    weight = fy_sub(weight, fy_mul_scalar(fy_grad(weight), lr));
    bias = fy_sub(bias, fy_mul_scalar(fy_grad(bias), lr));
  }
  return loss;
}
