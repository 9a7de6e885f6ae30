// mistake: library optimizer used
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  FyTensorList *parameters = fy_tensor_list_new();
  fy_list_add(parameters, "weight", weight);
  fy_list_add(parameters, "bias", bias);
  fy_step(fy_sgd(parameters, .lr = lr));
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
}
