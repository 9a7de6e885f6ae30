// mistake: part of the graph detached
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  FyTensor *again = fy_clone(fy_detach(gate));
  return fy_mse_loss(fy_add(gate, fy_sub_scalar_(again, 1)), target);
}
