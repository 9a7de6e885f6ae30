// missing star: unnecessary transfer
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *bias = fy_to(fy_tensor(fy_floats(0.5f), fy_shape(1)), fy_device_of(x));
  FyTensor *gate = fy_sigmoid(fy_add(fy_matmul(x, weight), bias));
  return fy_mse_loss(fy_sub_scalar(fy_mul_scalar(gate, 2), 1), target);
}
