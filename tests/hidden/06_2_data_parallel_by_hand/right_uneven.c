// missing star: load imbalance
// N / count rows for each GPU, rounded down, and the rest for the last one.
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  FyTensor *inputs[8], *outputs[8];
  FyModule *replicas[8];
  const int64_t rows = fy_size_at(x, 0);
  const int used = rows < count ? (int)rows : count;
  const int64_t each = rows / used;
  for (int i = 0; i < used; i++) {
    const int64_t length = i == used - 1 ? rows - each * i : each;
    inputs[i] = fy_to(fy_narrow(x, 0, each * i, length), fy_cuda_device(ids[i]));
  }
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, inputs, used, outputs);
  FyTensor *loss = fy_mse_loss(fy_gather((FyTensors){used, outputs}, ids[0], 0), target);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  return fy_detach(loss);
}
