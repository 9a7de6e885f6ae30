// A replica on every GPU, also where there are no rows.
// devices: 2
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *result = NULL;
  fy_scope {
    FyTensor *pieces[8], *outputs[8];
    FyModule *replicas[8];
    fy_replicate(model, ids, count, replicas);
    int used = fy_scatter(x, ids, count, 0, pieces);
    fy_parallel_apply(replicas, pieces, used, outputs);
    FyTensor *loss = fy_mse_loss(fy_gather((FyTensors){used, outputs}, ids[0], 0), target);
    fy_zero_grad(optimizer);
    fy_backward(loss);
    fy_step(optimizer);
    result = fy_keep(fy_detach(loss));
  }
  return result;
}
