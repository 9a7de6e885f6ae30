// mistake: missing factor of 2 in the gradient
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = NULL;
  fy_no_grad {
    FyTensor *error = fy_sub(fy_linear(x, weight, bias), target);
    FyTensor *slope = fy_mul_scalar(error, lr / (double)fy_numel(error));
    loss = fy_mean(fy_mul(error, error));
    fy_sub_(weight, fy_matmul(fy_t(slope), x));
    fy_sub_(bias, fy_sum_dim(slope, 0, false));
  }
  return loss;
}
