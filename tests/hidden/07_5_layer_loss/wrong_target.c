// mistake: caller's tensor changed
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  FyTensor *output = fy_sub_scalar(fy_mul_scalar(gate, 2), 1);
  fy_sub_(target, output);
  return fy_mean(fy_mul(target, target));
}
