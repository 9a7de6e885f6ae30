// A sigmoid by hand.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *power = fy_exp(fy_add_scalar(fy_matmul(x, weight), 0.5));
  FyTensor *gate = fy_div(power, fy_add_scalar(power, 1));
  return fy_mse_loss(fy_sub_scalar(fy_mul_scalar(gate, 2), 1), target);
}
