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
  // [answer]
  enum { WARM_UP = 3 };
  const int64_t steps = fy_size_at(batches, 0);
  FyTensor *x = fy_empty(fy_size(fy_select(batches, 0, 0)), .device = device); // all steps read these two
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
        fy_scope { // so that nothing of it is alive at the capture
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
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss)); // the next replay writes loss anew
    }
  }
  fy_stream_wait_stream(fy_current_stream(device), stream);
  return fy_cpu(losses);
  // [stub]
  //| (void)model;
  //| (void)optimizer;
  //| (void)batches;
  //| (void)targets;
  //| (void)device;
  //| return NULL;
  // [end]
}
