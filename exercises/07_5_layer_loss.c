// Exercise 7.5: Find the bug: the loss of a layer   lesson 7 · medium · 15 min
//
// Task      loss_of computes the loss of a layer with outputs between -1 and 1:
//               gate = torch.sigmoid(x @ weight + 0.5)
//               loss = F.mse_loss(2 * gate - 1, target)
//           The loss is right, but fy_backward(loss) raises a RuntimeError.
// Example   x = [[1]], weight = [[-0.5]], target = [[1]]
//               ->   loss = 1, weight.grad = [[-1]], x.grad = [[0.5]]
// Fix       loss_of. It returns the loss, a tensor without dimensions.
// Inputs    x, weight  (rows, in) and (in, out) float32; require gradients;
//                      sizes at least 1
//           target     (rows, out) float32; all three on one device, with any
//                      strides
// Required  - the loss, and after fy_backward(loss) the gradients of x and
//             weight, are right in every call, and on the device of x
//           - the inputs are unchanged
// Stars     ** nothing is copied between host and device
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  gate = fy_sigmoid(gate);
  fy_mul_scalar_(gate, 2);
  fy_sub_scalar_(gate, 1);
  return fy_mse_loss(gate, target);
}
