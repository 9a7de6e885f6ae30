// missing star: memory grows with each batch
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  enum { MOST = 128 };
  FyTensor *parts[MOST];
  int used = 0;
  bool recording = fy_is_grad_enabled();
  fy_set_grad_enabled(false);
  for (int64_t i = 0; i < fy_size_at(data, 0); i += batch)
    parts[used++] = fy_cpu(fy_forward(model, fy_to(fy_slice(data, 0, i, i + batch, 1), device)));
  fy_set_grad_enabled(recording);
  return fy_cat((FyTensors){.count = used, .items = parts}, 0);
}
