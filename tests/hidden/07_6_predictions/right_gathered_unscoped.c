// missing star: memory grows with each batch
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *there = fy_empty(fy_shape(count, classes), .device = device);
  fy_no_grad {
    int64_t batches = (count + batch - 1) / batch;
    for (int64_t k = 0; k < batches; k++) {
      FyTensor *part = fy_slice(data, 0, k * batch, k + 1 < batches ? (k + 1) * batch : count, 1);
      fy_copy_(fy_narrow(there, 0, k * batch, fy_size_at(part, 0)), fy_forward(model, fy_to(part, device)));
    }
  }
  return fy_cpu(there);
}
