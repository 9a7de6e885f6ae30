// missing star: tensor created on the host
#include "ferry.h"

static void update(FyTensor *t, double lr) {
  fy_no_grad {
    FyTensor *rate = fy_tensor(fy_floats((float)lr), fy_shape(1), .device = fy_device_of(t));
    fy_sub_(t, fy_mul(fy_grad(t), rate));
  }
  fy_set_grad(t, NULL);
}

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  update(weight, lr);
  update(bias, lr);
  return loss;
}
