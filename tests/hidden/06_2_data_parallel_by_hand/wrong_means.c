// mistake: mean of means
// devices: 2
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *pieces[8], *outputs[8];
  FyModule *replicas[8];
  int used = fy_scatter(x, ids, count, 0, pieces); // fewer than count where the batch is small
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, pieces, used, outputs);
  FyTensor *wanted[8], *losses[8];
  fy_scatter(target, ids, count, 0, wanted);
  for (int i = 0; i < used; i++)
    losses[i] = fy_mse_loss(outputs[i], wanted[i]);
  FyTensor *loss = fy_mean(fy_gather((FyTensors){used, losses}, ids[0], 0));
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  return fy_detach(loss);
}
