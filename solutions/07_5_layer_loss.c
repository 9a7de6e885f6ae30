// Exercise 7.5: find the bug, a saved tensor changed                              (chapter 7, docs/07_pitfalls.md)
//
// loss_of computes the loss of a layer whose outputs lie between -1 and 1. The loss is right. The caller's
// fy_backward(loss) raises
//
//   RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation ...
//
// Mend it: the same loss, with right gradients of x and of weight.
//
//   PyTorch:  gate = torch.sigmoid(x @ weight + 0.5)
//             loss = F.mse_loss(2 * gate - 1, target)
//
// Given: x (rows, in), weight (in, out) and target (rows, out), float32 on one device, any strides; x and weight
// require gradients, target depends on neither, and the products may lie far from zero, or be -0.5. None of the three
// may be changed.
// Returned: the loss, a tensor of no dimensions, on their device.
// Judged: the loss and the gradients; x, weight and target afterwards; copies between host and device (none is needed).
// The next call may be on another device.
#include "ferry.h"

FyTensor *loss_of(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyTensor *gate = fy_matmul(x, weight); // (rows, out)
  fy_add_scalar_(gate, 0.5);             // in place saves memory
  // [answer]
  gate = fy_sigmoid(gate);
  FyTensor *output = fy_mul_scalar(gate, 2); // sigmoid's backward needs its output as it is
  fy_sub_scalar_(output, 1);
  return fy_mse_loss(output, target);
  // [stub]
  //| gate = fy_sigmoid(gate);
  //| fy_mul_scalar_(gate, 2);
  //| fy_sub_scalar_(gate, 1);
  //| return fy_mse_loss(gate, target);
  // [end]
}
