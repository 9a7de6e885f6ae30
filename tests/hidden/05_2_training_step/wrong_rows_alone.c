// mistake: mean over the rows only
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *error = fy_sub(fy_linear(x, weight, bias), target);
  FyTensor *loss = fy_div_scalar(fy_sum(fy_mul(error, error)), (double)fy_size_at(x, 0));
  fy_backward(loss);
  fy_no_grad {
    fy_sub_(weight, fy_mul_scalar(fy_grad(weight), lr));
    fy_sub_(bias, fy_mul_scalar(fy_grad(bias), lr));
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
