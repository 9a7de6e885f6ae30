// mistake: scope left open
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  fy_scope_open();
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  gate = fy_sigmoid(gate);
  FyTensor *output = fy_mul_scalar(gate, 2); // sigmoid's backward needs its output as it is
  fy_sub_scalar_(output, 1);
  return fy_mse_loss(output, target);
}
