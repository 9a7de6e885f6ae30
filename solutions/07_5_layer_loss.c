// Exercise 7.5: Find the bug: a layer's loss        lesson 7 · medium · 15 min
//
// Task      loss_of computes the loss of a layer with outputs between -1 and 1:
//               gate = torch.sigmoid(x @ weight + 0.5)
//               loss = F.mse_loss(2 * gate - 1, target)
//           The loss is correct, but fy_backward(loss) raises a RuntimeError.
// Example   x = [[1]], weight = [[-0.5]], target = [[1]]
//               ->   loss = 1, weight.grad = [[-1]], x.grad = [[0.5]]
// Fix       loss_of. It returns the loss, a 0-dimensional tensor.
// Inputs    x, weight  (rows, in) and (in, out) float32; require gradients;
//                      sizes at least 1
//           target     (rows, out) float32; all three on one device, with any
//                      strides
// Required  - in every call, the loss is correct and on the device of x, and so
//             are the gradients of x and weight after fy_backward(loss)
//           - the inputs are unchanged
// Stars     ** nothing is copied between host and device
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place, to save memory
  // [answer]
  gate = fy_sigmoid(gate);
  FyTensor *output = fy_mul_scalar(gate, 2); // backward of sigmoid needs its output unchanged
  fy_sub_scalar_(output, 1);
  return fy_mse_loss(output, target);
  // [stub]
  //| gate = fy_sigmoid(gate);
  //| fy_mul_scalar_(gate, 2);
  //| fy_sub_scalar_(gate, 1);
  //| return fy_mse_loss(gate, target);
  // [end]
}
