// mistake: batch not split across GPUs
// devices: 4
#include "ferry.h"
#include <stdlib.h>

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *result = NULL;
  fy_scope {
    FyTensor **pieces = calloc((size_t)count, sizeof *pieces), **outputs = calloc((size_t)count, sizeof *outputs);
    FyModule **replicas = calloc((size_t)count, sizeof *replicas);
    fy_check(pieces && outputs && replicas, FY_OUT_OF_MEMORY_ERROR, "no memory");
    if (fy_size_at(x, 0) < count)
      count = 1;
    int used = fy_scatter(x, ids, count, 0, pieces);
    fy_replicate(model, ids, used, replicas);
    fy_parallel_apply(replicas, pieces, used, outputs);
    FyTensor *output = fy_gather((FyTensors){.count = used, .items = outputs}, ids[0], 0);
    FyTensor *loss = fy_mse_loss(output, target);
    fy_zero_grad(optimizer);
    fy_backward(loss);
    fy_step(optimizer);
    result = fy_keep(fy_detach(loss));
    free(pieces);
    free(outputs);
    free(replicas);
  }
  return result;
}
