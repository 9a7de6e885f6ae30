// Exercise 5.3: find the bug, the model left behind                    (chapter 5, docs/05_model_moves.md)
//
// train runs `steps` steps of gradient descent on one batch and returns the loss of each step. Its losses are right on
// every device. But on a GPU it is hardly faster than on the CPU, and whoever calls the model afterwards with a batch
// on that GPU is told that there are two devices.
//
// Mend it: the training takes place on `device`, the model is there when the function returns, and so are the losses.
//
//   PyTorch:  for i in range(steps):
//                 loss = F.mse_loss(model(x), y)
//                 optimizer.zero_grad(); loss.backward(); optimizer.step()
//                 losses[i] = loss.detach()
//
// Given: a model of several layers, without buffers, on the CPU, in training mode, with no gradients yet; x (N, in) and
// y (N, out) float32 on the CPU, any strides; a device, which may be the CPU; steps, which may be 0. What is in the
// parameters' .grad afterwards is not judged.
// Returned: the losses (steps), float32, on `device`, without a graph behind them. x and y stay as they are, and the
// caller's.
// Counted: copies between host and device. Each parameter, x and y cross once, and nothing comes back.
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, FyDevice device, int64_t steps) {
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.25);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device);
  x = fy_to(x, device);
  y = fy_to(y, device);
  for (int64_t i = 0; i < steps; i++) {
    fy_scope {
      fy_module_to(model, device);
      FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss));
      fy_module_cpu(model); // as it was given
    }
  }
  return losses;
}
