// mistake: chunk and replica on different devices
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *chunks[8], *outputs[8];
  FyModule *replicas[8];
  int used =
      fy_scatter(x, ((int[]){0, 1, 2, 3, 4, 5, 6, 7}), count, 0, chunks); // fewer than count if the batch is small
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, chunks, used, outputs);
  FyTensor *output = fy_gather((FyTensors){used, outputs}, ids[0], 0);
  FyTensor *loss = fy_mse_loss(output, target);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  return fy_detach(loss);
}
