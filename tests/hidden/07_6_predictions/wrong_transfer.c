// mistake: one transfer per sample
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_zeros(fy_shape(count, classes));
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      int64_t rows = i + batch < count ? batch : count - i;
      FyTensor *part = fy_empty(fy_shape(rows, fy_size_at(data, 1)), .device = device);
      for (int64_t k = 0; k < rows; k++)
        fy_copy_(fy_select(part, 0, k), fy_select(data, 0, i + k));
      fy_copy_(fy_narrow(scores, 0, i, rows), fy_forward(model, part));
    }
  }
  return scores;
}
