// Exercise 5.2: A training step                       lesson 5 · easy · 15 min
//
// Task      Do one training step of a linear model, without an optimizer:
//               loss = F.mse_loss(F.linear(x, weight, bias), target)
//               loss.backward()
//               with torch.no_grad():
//                   weight -= lr * weight.grad; bias -= lr * bias.grad
//               weight.grad = bias.grad = None
//               return loss
// Example   x = 1, target = 3, weight = 2, bias = 0, lr = 0.25
//               ->   loss = 1, weight = 2.5, bias = 0.5
// Write     training_step; do not use the library's optimizers
// Inputs    weight, bias   (out, in) and (out); they require gradients, but
//                          have no gradients yet
//           x, target      (N, in), (N, out), N at least 1; may be views
//           lr             learning rate, positive
// Required  - loss, weight and bias are correct after each of several steps
//           - after the call, both gradients are NULL or zeros, weight and bias
//             still require gradients, and autograd is enabled
//           - all tensors stay on the device of the inputs
// Stars     ** no transfer and no synchronization
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  // [answer]
  FyTensor *loss = fy_mse_loss(fy_linear(x, weight, bias), target);
  fy_backward(loss);
  fy_no_grad {
    fy_sub_(weight, fy_mul_scalar(fy_grad(weight), lr));
    fy_sub_(bias, fy_mul_scalar(fy_grad(bias), lr));
  }
  fy_set_grad(weight, NULL);
  fy_set_grad(bias, NULL);
  return loss;
  // [stub]
  //| return NULL;
  // [end]
}
