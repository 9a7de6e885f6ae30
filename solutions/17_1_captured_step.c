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
  // [answer]
  enum { WARM_UP = 3 };
  const int64_t steps = fy_size_at(batches, 0);
  FyTensor *x = fy_empty(fy_size(fy_select(batches, 0, 0)), .device = device); // every step reads these two
  FyTensor *y = fy_empty(fy_size(fy_select(targets, 0, 0)), .device = device);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device), *loss = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyStream *stream = fy_stream_new(device, 0);
  fy_stream_wait_stream(stream, fy_current_stream(device));
  fy_stream_guard(stream) {
    for (int64_t i = 0; i < steps; i++) {
      fy_copy_async_(x, fy_select(batches, 0, i));
      fy_copy_async_(y, fy_select(targets, 0, i));
      if (i < WARM_UP) {
        fy_scope { // frees its tensors before the capture
          fy_zero_grad(optimizer);
          FyTensor *own = fy_mse_loss(fy_forward(model, x), y);
          fy_backward(own);
          fy_step(optimizer);
          fy_copy_(fy_select(losses, 0, i), fy_detach(own));
        }
        continue;
      }
      if (i == WARM_UP) {
        fy_zero_grad(optimizer);
        fy_cuda_graph_capture(graph, .stream = stream) {
          loss = fy_mse_loss(fy_forward(model, x), y);
          fy_backward(loss);
          fy_step(optimizer);
        }
      }
      fy_cuda_graph_replay(graph);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss)); // the next replay overwrites loss
    }
  }
  fy_stream_wait_stream(fy_current_stream(device), stream);
  return fy_cpu(losses);
  // [stub]
  //| return NULL;
  // [end]
}
