// Exercise 15.3: a step, captured once                                (chapter 15, docs/15_tracing.md)
//
// Write train_by_replays: it trains a model on a number of batches, one step for each, in order. The first steps are
// run as ever; then the step is captured into a CUDA graph, and every further one is a replay.
//
//   PyTorch:  for x, y in batches[:3]: ... loss.backward(); optimizer.step()      # warm up
//             graph = torch.cuda.CUDAGraph()
//             optimizer.zero_grad(set_to_none=True)
//             with torch.cuda.graph(graph):
//                 static_loss = F.mse_loss(model(static_x), static_y); static_loss.backward(); optimizer.step()
//             for x, y in batches[3:]: static_x.copy_(x); static_y.copy_(y); graph.replay(); losses.append(...)
//
// Given: a model, and an optimizer of its parameters (SGD with momentum), which has made no step yet, on a CUDA device
// that need not be the current one. Work on the parameters may still be queued in that device's current stream. batches
// (steps, rows, in) and targets (steps, rows, out), float32 in pinned memory of the CPU, with more than ten steps. The
// loss of a step is fy_mse_loss(fy_forward(model, x), y). Afterwards the current device and stream are what they were;
// what is in the gradients then is not judged.
// Returned: the losses of all steps, float32 (steps), on the CPU, without a graph of autograd: each as it was before
// its update.
// Judged: the losses, and the parameters afterwards, which are those of the same steps run call by call, in whichever
// order streams run that do not wait for each other.
// Counted: the model's forward runs at most four times: for at most three steps to warm up, and for one capture. The
// host waits for the device at most six times; a capture does so once.
#include "ferry.h"

FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device) {
  (void)model;
  (void)optimizer;
  (void)batches;
  (void)targets;
  (void)device;
  return NULL;
}
