// mistake: missing bias
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_matmul(x, weight));
  return fy_mse_loss(fy_sub_scalar(fy_mul_scalar(gate, 2), 1), target);
}
