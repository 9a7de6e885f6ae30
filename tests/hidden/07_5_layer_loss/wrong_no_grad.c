// mistake: saved tensor modified in place
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  fy_no_grad {
    fy_mul_scalar_(gate, 2);
    fy_sub_scalar_(gate, 1);
  }
  return fy_mse_loss(gate, target);
}
