// The pieces cut and moved one by one; gathered by moves and fy_cat.
#include "ferry.h"

FyTensor *parallel_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, const int *ids,
                        int count) {
  int64_t rows = fy_size_at(x, 0), piece = (rows + count - 1) / count;
  FyTensor *inputs[8], *outputs[8], *back[8];
  FyModule *replicas[8];
  int used = 0;
  for (int64_t at = 0; at < rows; at += piece, used++)
    inputs[used] = fy_to(fy_narrow(x, 0, at, at + piece < rows ? piece : rows - at), fy_cuda_device(ids[used]));
  fy_replicate(model, ids, used, replicas);
  fy_parallel_apply(replicas, inputs, used, outputs);
  for (int i = 0; i < used; i++)
    back[i] = fy_to(outputs[i], fy_cuda_device(ids[0]));
  FyTensor *loss = fy_mse_loss(fy_cat((FyTensors){used, back}, 0), target), *value = fy_detach(loss);
  fy_zero_grad(optimizer);
  fy_backward(loss);
  fy_step(optimizer);
  return value;
}
