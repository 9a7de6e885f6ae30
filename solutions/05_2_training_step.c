// Exercise 5.2: one training step by hand                                        (chapter 5, docs/05_model_moves.md)
//
// What an optimizer does, done once without one (the library's may not be used). Write training_step for a linear model
// with the mean squared error:
//
//   1. forward: the outputs x @ weight.T + bias, and their loss against the target
//   2. backward: the gradients of weight and bias
//   3. update both in place, each by -lr times its gradient, without recording that
//   4. clear both gradients, or the next step adds to them
//
// and return the loss, with its graph or without.
//
//   PyTorch:  loss = F.mse_loss(F.linear(x, weight, bias), target)
//             loss.backward()
//             with torch.no_grad():
//                 weight -= lr * weight.grad
//                 bias -= lr * bias.grad
//             weight.grad = bias.grad = None
//             return loss
//
// Given: weight (out, in) and bias (out), which require gradients and have none yet, x (N, in) and target (N, out),
// which require none, all on one device.
// Judged: two steps, one after the other: losses, weight and bias, that the gradients are cleared (NULL or zeros), that
// weight and bias still require gradients, and that afterwards autograd records as it did before. x and target stay as
// they are.
// Counted: copies between host and device, and synchronisations. No step needs one: the loss stays where it is.
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
  //| (void)weight;
  //| (void)bias;
  //| (void)x;
  //| (void)target;
  //| (void)lr;
  //| return NULL; // the loss goes here
  // [end]
}
