// Exercise 11.3: Gradient accumulation             lesson 11 · medium · 25 min
//
// Task      Compute the gradients of a batch whose activations do not fit into
//           memory: run it through the model in micro-batches of `rows` rows.
//           Add to each .grad the gradient of the whole batch's mean squared
//           error, and return that error. In PyTorch:
//               for xs, ts in zip(x.split(rows), target.split(rows)):
//                   loss = F.mse_loss(model(xs), ts) * (len(xs) / len(x))
//                   loss.backward()
//                   total += loss.detach()
// Example   N = 5, rows = 2  ->  sum of three losses times 0.4, 0.4 and 0.2
// Write     accumulate. It returns a 0-dim tensor on the model's device.
// Inputs    model     each parameter requires a gradient and may have a .grad
//           x         float32 (N, in) on the model's device, GPU or CPU
//           target    float32 (N, out), same device
//           rows      1 to 2^31; N is 1 or more
// Required  - correct gradients and error, for every N and rows; the result
//             requires no gradient, and the parameters do not change
//           - at most `rows` rows in a forward pass; from the second pass on,
//             the memory in use before it grows by at most 1 KiB per pass
// Stars     ** at most N / rows + 1 forward passes
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  return NULL; // the error goes here
}
