// Exercise 5.3: Find the bug: a training loop         lesson 5 · easy · 15 min
//
// Task      train runs gradient descent on one batch and returns all losses:
//               for i in range(steps):
//                   loss = F.mse_loss(model(x), y)
//                   optimizer.zero_grad(); loss.backward(); optimizer.step()
//                   losses[i] = loss.detach()
//           The losses are correct, but train is hardly faster on a GPU than
//           on the CPU. If you then run the model with a batch on that GPU, it
//           raises an error, because the tensors are on different devices.
// Example   train(model, x, y, cuda:0, 3)   ->   3 losses on cuda:0
// Fix       train
// Inputs    model   several layers, on the CPU, in training mode
//           x, y    float32, (N, in) and (N, out), N at least 1, on the CPU,
//                   may be views
//           device  the CPU or any CUDA device
//           steps   at least 1
// Required  - the losses are correct, on `device`, and without a graph
//           - the model is trained on `device` and stays there; its parameters
//             are not transferred in every step
//           - x and y are unchanged and not freed
// Stars     ** no transfer in the loop
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
      fy_module_cpu(model); // as the caller passed it
    }
  }
  return losses;
}
