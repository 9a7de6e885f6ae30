// mistake: slice past the end
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_zeros(fy_shape(count, classes));
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      FyTensor *part = fy_to(fy_narrow(data, 0, i, batch), device);
      fy_copy_(fy_narrow(scores, 0, i, batch), fy_forward(model, part));
    }
  }
  return scores;
}
