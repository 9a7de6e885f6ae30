// mistake: missing rescaling
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  gate = fy_sigmoid(gate);
  fy_mul_scalar(gate, 2);
  fy_sub_scalar(gate, 1);
  return fy_mse_loss(gate, target);
}
