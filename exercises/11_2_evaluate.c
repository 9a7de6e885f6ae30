// Exercise 11.2: evaluation without a graph                                        (chapter 11, docs/11_memory.md)
//
// Between two epochs of training a model is evaluated: how many samples does it label right, and what is its mean loss?
// Nothing is learned from it, so nothing needs to be kept for gradients, dropout is off, and BatchNorm goes by what it
// has learned before. And then the training goes on as if nothing had happened. Write evaluate.
//
//   PyTorch:  was_training = model.training
//             model.eval()
//             with torch.no_grad():
//                 for xs, ys in zip(x.split(batch), labels.split(batch)):
//                     output = model(xs)
//                     loss += F.cross_entropy(output, ys).item() * len(xs)
//                     right += (output.argmax(1) == ys).sum().item()
//             model.train(was_training)
//             return right / len(x), loss / len(x)
//
// Given: a model, which is in training mode or in evaluation mode, with all of its parts (model->training says which);
// x (N, features) float32 and labels (N) int64 on the model's device, which may be the CPU; batch, the most samples
// that go through the model at a time; *loss, to be filled in. N is 1 or more, and hardly ever a multiple of batch.
// Some parameters may be frozen (they require no gradient). The two largest outputs of a sample differ by more than
// rounding.
// Returned: the share of the samples whose largest output is that of their label, 0 to 1. In *loss: the mean cross
// entropy over all N samples.
// Judged: both numbers. While it is evaluated the model is in evaluation mode, and no output of it carries a graph.
// Afterwards: the model is in the mode in which it came, its parameters and buffers are what they were and still
// require what they required, no gradient has been added, the process's random generator has not been drawn from, and
// recording (fy_is_grad_enabled) is on or off as it was before the call. Memory: from the second batch on, what is in
// use on the device when a batch's forward pass begins grows by at most 1 KiB per batch.
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *labels, int64_t batch, double *loss) {
  (void)model;
  (void)x;
  (void)labels;
  (void)batch;
  *loss = 0; // the mean loss goes here
  return 0;  // the share of those that are right goes here
}
