// mistake: missing synchronization between streams
#include "ferry.h"

static void one_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *y, FyTensor *noted) {
  FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
  fy_backward(loss);
  fy_step(optimizer);
  fy_copy_(noted, fy_detach(loss));
}

FyTensor *train_by_replays(FyModule *model, FyOptimizer *optimizer, FyTensor *batches, FyTensor *targets,
                           FyDevice device) {
  enum { WARM_UP = 3 };
  const int64_t steps = fy_size_at(batches, 0);
  FyStream *side = fy_stream_new(device, 0);
  FyTensor *result = NULL;
  fy_stream_wait_stream(side, fy_default_stream(device));
  fy_stream_guard(side) {
    FyTensor *x = fy_to(fy_select(batches, 0, 0), device), *y = fy_to(fy_select(targets, 0, 0), device);
    FyTensor *noted = fy_zeros(FY_SCALAR, .device = device), *losses = fy_zeros(fy_shape(steps), .device = device);
    for (int64_t i = 0; i < WARM_UP; i++) {
      fy_scope {
        fy_copy_async_(x, fy_select(batches, 0, i));
        fy_copy_async_(y, fy_select(targets, 0, i));
        fy_zero_grad(optimizer);
        one_step(model, optimizer, x, y, noted);
        fy_copy_(fy_select(losses, 0, i), noted);
      }
    }
    FyCudaGraph *graph = fy_cuda_graph_new();
    fy_zero_grad(optimizer);
    fy_cuda_graph_capture(graph) {
      fy_scope {
        one_step(model, optimizer, x, y, noted);
      }
    }
    for (int64_t i = WARM_UP; i < steps; i++) {
      fy_scope {
        fy_copy_async_(x, fy_select(batches, 0, i));
        fy_copy_async_(y, fy_select(targets, 0, i));
        fy_cuda_graph_replay(graph);
        fy_copy_(fy_select(losses, 0, i), noted);
      }
    }
    result = fy_cpu(losses);
  }
  fy_stream_wait_stream(fy_current_stream(device), side);
  return result;
}
