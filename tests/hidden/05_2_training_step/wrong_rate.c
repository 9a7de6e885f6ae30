// mistake: missing learning rate
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  (void)lr;
  fy_no_grad {
    fy_sub_(weight, fy_grad(weight));
    fy_sub_(bias, fy_grad(bias));
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
