// mistake: bias gradient summed over the outputs
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = NULL;
  fy_scope {
    fy_no_grad {
      FyTensor *difference = fy_sub(fy_linear(x, weight, bias), target); // (N, out)
      loss = fy_keep(fy_mean(fy_mul(difference, difference)));
      FyTensor *slope = fy_mul_scalar(difference, 2.0 / (double)fy_numel(target));
      FyTensor *weight_grad = fy_matmul(fy_t(slope), x);             // (out, in)
      FyTensor *bias_grad = fy_sum_dim(fy_squeeze(slope), 0, false); // (out)
      fy_sub_(weight, fy_mul_scalar(weight_grad, lr));
      fy_sub_(bias, fy_mul_scalar(bias_grad, lr));
    }
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
