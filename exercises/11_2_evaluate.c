// Exercise 11.2: Evaluation without a graph          lesson 11 · easy · 20 min
//
// Task      Evaluate a model between two epochs of training. Compute the share
//           of samples that it labels correctly, and its mean loss. In PyTorch:
//               model.eval()
//               with torch.no_grad():
//                   for xs, ys in zip(x.split(batch), labels.split(batch)):
//                       output = model(xs)
//                       loss += F.cross_entropy(output, ys).item() * len(xs)
//                       right += (output.argmax(1) == ys).sum().item()
//               return right / len(x), loss / len(x)
// Example   N = 5, batch = 2, 4 correct  ->  0.8, from passes of 2, 2 and 1
// Write     evaluate. It returns the share, and stores the mean loss in *loss.
// Inputs    model     in training or evaluation mode; some parameters may be
//                     frozen (require no gradient)
//           x         float32 (N, features) on the model's device, GPU or CPU
//           labels    int64 (N), same device; N is 1 or more
//           batch     the maximum number of samples in a forward pass
// Required  - evaluation mode and no autograd graph in every forward pass
//           - model, mode, gradients and autograd setting are left unchanged
//           - each batch adds at most its outputs + 1 KiB to the memory in use
// Stars     ** the global random generator is not used
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  *loss = 0; // the mean loss goes here
  return 0;  // the share of correct samples goes here
}
