#include "ferry.h"

// Forward and backward in one graph, the optimizer's step in another one of the same pool. One warm-up step.
FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device) {
  const int64_t steps = fy_size_at(batches, 0);
  FyTensor *x = fy_empty(fy_size(fy_select(batches, 0, 0)), .device = device);
  FyTensor *y = fy_empty(fy_size(fy_select(targets, 0, 0)), .device = device);
  FyTensor *losses = fy_pin_memory(fy_zeros(fy_shape(steps))), *loss = NULL;
  FyCudaGraph *passes = fy_cuda_graph_new(), *update = fy_cuda_graph_new();
  fy_cuda_device_guard(device.index) {
    for (int64_t i = 0; i < steps; i++) {
      fy_copy_async_(x, fy_select(batches, 0, i));
      fy_copy_async_(y, fy_select(targets, 0, i));
      if (i == 0) {
        fy_scope {
          FyTensor *first = fy_mse_loss(fy_forward(model, x), y);
          fy_backward(first);
          fy_step(optimizer);
          fy_copy_async_(fy_select(losses, 0, 0), fy_detach(first));
        }
        continue;
      }
      if (i == 1) {
        fy_zero_grad(optimizer);
        fy_cuda_graph_capture(passes) {
          loss = fy_mse_loss(fy_forward(model, x), y);
          fy_backward(loss);
        }
        fy_cuda_graph_capture(update, .pool = fy_cuda_graph_pool(passes)) {
          fy_step(optimizer);
        }
      }
      fy_cuda_graph_replay(passes);
      fy_copy_async_(fy_select(losses, 0, i), fy_detach(loss));
      fy_cuda_graph_replay(update);
    }
    fy_synchronize(device);
  }
  return losses;
}
