// The mean of the squares, written out.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  gate = fy_sigmoid(gate);
  FyTensor *output = fy_mul_scalar(gate, 2); // sigmoid's backward needs its output as it is
  fy_sub_scalar_(output, 1);
  FyTensor *error = fy_sub(output, target);
  return fy_mean(fy_mul(error, error));
}
