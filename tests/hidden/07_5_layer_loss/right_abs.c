// tanh of half of the score by hand, with an exp of at most 1.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *score = fy_add_scalar(fy_matmul(x, weight), 0.5);
  FyTensor *z = fy_exp(fy_neg(fy_abs(score)));
  FyTensor *size = fy_div(fy_add_scalar(fy_neg(z), 1), fy_add_scalar(z, 1));
  FyTensor *output = fy_where(fy_gt(score, fy_zeros_like(score)), size, fy_neg(size));
  return fy_mse_loss(output, target);
}
