// mistake: state kept between calls
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  static FyTensor *half;
  if (!half)
    half = fy_retain(fy_full(0.5, fy_shape(1), .device = fy_device_of(x)));
  fy_add_(gate, half);
  gate = fy_sigmoid(gate);
  FyTensor *output = fy_mul_scalar(gate, 2); // sigmoid's backward needs its output as it is
  fy_sub_scalar_(output, 1);
  return fy_mse_loss(output, target);
}
