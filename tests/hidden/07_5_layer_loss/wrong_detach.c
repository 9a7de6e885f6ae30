// mistake: loss detached from the graph
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_detach(fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5)));
  fy_sub_scalar_(fy_mul_scalar_(gate, 2), 1);
  return fy_mse_loss(gate, target);
}
