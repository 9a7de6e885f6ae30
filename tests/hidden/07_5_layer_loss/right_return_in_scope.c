// Returned out of a scope.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  gate = fy_sigmoid(gate);
  fy_scope {
    FyTensor *output = fy_sub_scalar(fy_mul_scalar(gate, 2), 1);
    return fy_keep(fy_mse_loss(output, target));
  }
  return NULL; // not reached: the compiler takes the scope for a loop
}
