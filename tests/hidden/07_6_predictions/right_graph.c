// missing star: memory grows with each batch
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_zeros(fy_shape(count, classes));
  for (int64_t i = 0; i < count; i += batch) {
    int64_t rows = i + batch < count ? batch : count - i;
    FyTensor *part = fy_to(fy_narrow(data, 0, i, rows), device);
    fy_copy_(fy_narrow(scores, 0, i, rows), fy_detach(fy_forward(model, part)));
  }
  return scores;
}
