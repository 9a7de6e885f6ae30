// Exercise 11.1: find the leak                                                     (chapter 11, docs/11_memory.md)
//
// train goes through the batches of x once. For each it computes the loss, its gradients, and a step of gradient
// descent, and it notes the loss. The numbers are right, but the memory in use grows from batch to batch, and with data
// enough the program ends by running out of it.
//
// Mend it. More than one thing keeps memory alive here: print fy_memory_allocated(fy_device_of(x)) in each turn, and go
// on until it stands still.
//
//   PyTorch:  for i in range(batches):
//                 loss = F.mse_loss(model(x[i]), y[i])
//                 loss.backward()
//                 with torch.no_grad():
//                     for p in model.parameters():
//                         p -= lr * p.grad
//                         p.grad = None
//                     losses[i] = loss
//             return losses
//
// Given: a model; x (batches, rows, in) and y (batches, rows, out), float32 on the model's device, which may be the
// CPU; lr, above 0. There is at least one batch, and at most 256.
// Returned: the losses (batches), float32, on that device. They carry no graph: the result requires no gradient.
// Judged: the losses, the model's parameters afterwards, which have learned from each batch in turn, and memory: from
// the second batch on, what is in use on the device when a batch's forward pass begins grows by at most 1 KiB per
// batch.
#include "ferry.h"

// Each parameter less lr times its gradient, and no gradient afterwards. Nothing is wrong here.
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
    // [answer]
    fy_scope { // what is made in a step ends with it
      FyTensor *loss = fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i));
      fy_backward(loss);
      descend(parameters, lr);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss)); // the number, and not its graph
    }
    // [stub]
    //| FyTensor *loss = fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i));
    //| fy_backward(loss, .retain_graph = true);
    //| descend(parameters, lr);
    //| fy_copy_(fy_select(losses, 0, i), loss);
    // [end]
  }
  return losses;
}
