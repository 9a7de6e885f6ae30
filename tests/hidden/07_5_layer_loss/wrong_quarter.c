// mistake: wrong scale of the loss
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  FyTensor *between = fy_mul_scalar(fy_add_scalar(target, 1), 0.5); // the target in [0, 1], as the gate is
  return fy_mse_loss(gate, between);
}
