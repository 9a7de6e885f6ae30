// mistake: input detached from the graph
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(fy_detach(x), weight), 0.5));
  return fy_mse_loss(fy_sub_scalar(fy_mul_scalar(gate, 2), 1), target);
}
