// A loss for each piece where the piece is, weighted by its rows, and the losses added up.
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *pieces[16], *wanted[16], *outputs[16], *losses[16];
  FyModule *replicas[16];
  int used = fy_scatter(x, ids, count, 0, pieces);
  fy_scatter(target, ids, count, 0, wanted);
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, pieces, used, outputs);
  for (int i = 0; i < used; i++) {
    double share = (double)fy_size_at(pieces[i], 0) / (double)fy_size_at(x, 0);
    losses[i] = fy_mul_scalar(fy_mse_loss(outputs[i], wanted[i]), share);
  }
  FyTensor *loss = fy_sum(fy_gather((FyTensors){used, losses}, ids[0], 0));
  fy_module_zero_grad(model);
  fy_backward(loss);
  fy_step(optimizer);
  return fy_detach(loss);
}
