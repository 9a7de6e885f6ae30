// mistake: result of an operation ignored
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  fy_mul_scalar(gate, 2);
  return fy_mse_loss(fy_sub_scalar(gate, 1), target);
}
