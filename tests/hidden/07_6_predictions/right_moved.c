// missing star: whole data set on the device
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_zeros(fy_shape(count, classes));
  FyTensor *there = fy_to(data, device);
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      int64_t rows = i + batch < count ? batch : count - i;
      fy_copy_(fy_narrow(scores, 0, i, rows), fy_forward(model, fy_narrow(there, 0, i, rows)));
    }
  }
  return scores;
}
