// mistake: missing rescaling
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_sigmoid(fy_add_scalar(fy_matmul(x, weight), 0.5));
  return fy_mse_loss(gate, target);
}
