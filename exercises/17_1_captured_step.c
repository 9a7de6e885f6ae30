// Exercise 17.1: Capture a training step             lesson 17 · hard · 40 min
//
// Task      Train a model, one step per batch. Run the first steps eagerly, and
//           the others as replays of a CUDA graph of the step. In PyTorch:
//               for x, y in batches[:3]: ...                  # warm-up steps
//               optimizer.zero_grad(set_to_none=True)
//               with torch.cuda.graph(graph):
//                   loss = F.mse_loss(model(static_x), static_y)
//                   loss.backward(); optimizer.step()
//               ...  # batches[3:]: copy each to static_x and _y, replay
// Example   12 batches: 3 eager steps, 1 capture, 9 replays  ->  12 losses
// Write     train_by_replays. It returns the losses: float32 (steps), CPU.
// Inputs    model, optimizer    SGD with momentum, no step yet
//           batches   (steps, rows, in), targets (steps, rows, out), float32,
//                     pinned; more than 10 steps, at least 1 row
//           device    the model's GPU, maybe not the current device; work on
//                     the parameters may be pending in its current stream
// Required  - losses (before each update, no gradient) and parameters equal
//             those of eager steps, in whatever order the streams run
//           - at most 8 forward passes on the host
// Stars     ** at most 4 forward passes on the host
//           *** the host waits at most 6 times
#include "ferry.h"

FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device) {
  return NULL;
}
