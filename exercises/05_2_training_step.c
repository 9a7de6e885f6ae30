// Exercise 5.2: A training step                       lesson 5 · easy · 15 min
//
// Task      Train a linear model for one step, as an optimizer would do it:
//               loss = F.mse_loss(F.linear(x, weight, bias), target)
//               loss.backward()
//               with torch.no_grad():
//                   weight -= lr * weight.grad; bias -= lr * bias.grad
//               weight.grad = bias.grad = None
//               return loss
// Example   x = 1, target = 3, weight = 2, bias = 0, lr = 0.25
//               ->   loss = 1, weight = 2.5, bias = 0.5
// Write     training_step; the optimizers of the library are not allowed
// Inputs    weight, bias   (out, in) and (out); they require gradients, and
//                          have none yet
//           x, target      (N, in), (N, out), N at least 1; may be views
//           lr             learning rate, positive
// Required  - the right loss, weight and bias after each of several steps
//           - gradients are NULL or zeros after the call; weight and bias
//             still require gradients; autograd is on, as before
//           - everything stays on the device of the inputs
// Stars     ** no transfer and no synchronization
#include "ferry.h"

FyTensor *training_step(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *target, double lr) {
  return NULL;
}
