// mistake: gradients cleared too late
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *rows[16], *results[16];
  FyModule *copies[16];
  const int parts = fy_scatter(x, ids, count, 0, rows);
  fy_replicate(model, ids, parts, copies);
  fy_parallel_apply(copies, rows, parts, results);
  FyTensor *all = fy_gather((FyTensors){parts, results}, ids[0], 0), *loss = fy_mse_loss(all, target);
  fy_backward(loss);
  fy_step(optimizer);
  fy_zero_grad(optimizer); // for the next step
  return fy_detach(loss);
}
