// The change in place happens to a clone.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  FyTensor *output = fy_clone(gate);
  fy_sub_scalar_(fy_mul_scalar_(output, 2), 1);
  return fy_mse_loss(output, target);
}
