// Exercise 7.2: Mean squared error of a data set      lesson 7 · easy · 20 min
//
// Task      Evaluate a model in batches, without synchronizing in the loop:
//               total = torch.zeros((), device=x.device)
//               with torch.no_grad():
//                   for i in range(0, len(x), batch):
//                       total += F.mse_loss(model(x[i:i + batch]),
//                                    target[i:i + batch], reduction="sum")
//               return total.item() / target.numel()
// Example   errors 1 1 1 1 3, batch = 4   ->   (1 + 1 + 1 + 1 + 9) / 5 = 2.6
// Write     evaluate.
// Inputs    x, target  (N, in) and (N, out) float32, N at least 1, any strides,
//                      on one device: a GPU or the CPU
//           model      on x's device; training mode does not change its output
//           batch      at least 1; need not divide N
// Required  - the result is the mean over all elements of target
//           - at most N / batch + 1 forward passes, of at most batch rows each
//           - computed on x's device, with at most 3 copies to the host and 3
//             synchronizations
//           - gradient recording and the mode of each module are unchanged
// Stars     ** one copy to the host and one synchronization in total
//           *** device memory for one batch only, however large N is
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  return 0;
}
