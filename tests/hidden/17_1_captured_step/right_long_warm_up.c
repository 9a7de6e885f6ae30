// missing star: long warm-up
#include "ferry.h"

FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device) {
  const int64_t steps = fy_size_at(batches, 0);
  FyTensor *x = fy_empty(fy_size(fy_select(batches, 0, 0)), .device = device);
  FyTensor *y = fy_empty(fy_size(fy_select(targets, 0, 0)), .device = device);
  FyTensor *losses = fy_zeros(fy_shape(steps), .device = device), *loss = NULL;
  FyCudaGraph *graph = fy_cuda_graph_new();
  FyStream *stream = fy_stream_new(device, 0);
  fy_stream_wait_stream(stream, fy_current_stream(device));
  fy_stream_guard(stream) {
    for (int64_t i = 0; i < 6; i++) {
      fy_scope {
        fy_copy_async_(x, fy_select(batches, 0, i));
        fy_copy_async_(y, fy_select(targets, 0, i));
        fy_zero_grad(optimizer);
        FyTensor *own = fy_mse_loss(fy_forward(model, x), y);
        fy_backward(own);
        fy_step(optimizer);
        fy_copy_(fy_select(losses, 0, i), fy_detach(own));
      }
    }
    fy_zero_grad(optimizer);
    fy_cuda_graph_capture(graph, .stream = stream) {
      loss = fy_mse_loss(fy_forward(model, x), y);
      fy_backward(loss);
      fy_step(optimizer);
    }
    for (int64_t i = 6; i < steps; i++) {
      fy_copy_async_(x, fy_select(batches, 0, i));
      fy_copy_async_(y, fy_select(targets, 0, i));
      fy_cuda_graph_replay(graph);
      fy_copy_(fy_select(losses, 0, i), fy_detach(loss));
    }
  }
  fy_stream_wait_stream(fy_current_stream(device), stream);
  return fy_cpu(losses);
}
