// mistake: more replicas than chunks
// devices: 2
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *pieces[8], *outputs[8];
  FyModule *replicas[8];
  for (int i = 0; i < count; i++)
    pieces[i] = NULL;
  fy_scatter(x, ids, count, 0, pieces);
  fy_replicate(model, ids, count, replicas);
  fy_parallel_apply(replicas, pieces, count, outputs);
  FyTensor *output = fy_gather((FyTensors){count, outputs}, ids[0], 0);
  FyTensor *loss = fy_mse_loss(output, target);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  return fy_detach(loss);
}
