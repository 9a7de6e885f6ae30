// Exercise 11.1: Find the bug: memory that grows     lesson 11 · easy · 20 min
//
// Task      train runs through all batches once. For each batch, it computes
//           the loss and the gradients, takes a gradient descent step and
//           stores the loss. In PyTorch:
//               loss = F.mse_loss(model(x[i]), y[i]); loss.backward()
//               with torch.no_grad():
//                   for p in model.parameters(): p -= lr * p.grad
//                   losses[i] = loss    # then the gradients are cleared
//           The results are correct, but the memory in use grows with every
//           batch, so a long training run ends with an out-of-memory error.
// Example   3 batches: train(model, x, y, 0.1)  ->  3 decreasing losses
// Fix       train, so that the memory in use stays constant.
// Inputs    model     its parameters require gradients; on a GPU or the CPU
//           x, y      float32 (batches, rows, in) and (batches, rows, out), on
//                     the model's device; 1 to 256 batches, at least 1 row
//           lr        above 0
// Required  - correct losses of shape (batches), on the model's device and
//             without requires_grad; correct parameters afterward
//           - from the second batch on, the memory in use when a forward pass
//             begins grows by at most 1 KiB per batch
#include "ferry.h"

// Takes one gradient descent step and clears the gradients. This function is correct.
static void descend(FyTensorList *parameters, double lr) {
  for (int i = 0; i < parameters->count; i++) {
    FyTensor *p = parameters->items[i];
    fy_no_grad {
      fy_sub_(p, fy_mul_scalar(fy_grad(p), lr));
    }
    fy_set_grad(p, NULL);
  }
}

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  int64_t batches = fy_size_at(x, 0);
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *losses = fy_zeros(fy_shape(batches), .device = fy_device_of(x));
  for (int64_t i = 0; i < batches; i++) {
    FyTensor *loss = fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i));
    fy_backward(loss, .retain_graph = true);
    descend(parameters, lr);
    fy_copy_(fy_select(losses, 0, i), loss);
  }
  return losses;
}
