// 2 * sigmoid(s) - 1 is tanh(s / 2). The changes in place come before what keeps something.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *score = fy_matmul(x, weight);
  fy_mul_scalar_(fy_add_scalar_(score, 0.5), 0.5);
  FyTensor *error = fy_sub(fy_tanh(score), target);
  return fy_mean(fy_mul(error, error));
}
