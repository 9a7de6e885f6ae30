// mistake: wrong argument of tanh
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *score = fy_add_scalar(fy_matmul(x, weight), 0.5);
  return fy_mse_loss(fy_tanh(score), target); // also between -1 and 1
}
