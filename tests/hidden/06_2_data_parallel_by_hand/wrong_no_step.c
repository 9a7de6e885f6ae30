// mistake: parameters not updated
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *pieces[8], *outputs[8];
  FyModule *replicas[8];
  int used = fy_scatter(x, ids, count, 0, pieces); // fewer than count where the batch is small
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, pieces, used, outputs);
  FyTensor *output = fy_gather((FyTensors){used, outputs}, ids[0], 0);
  FyTensor *loss = fy_mse_loss(output, target);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  return fy_detach(loss);
}
