// mistake: autograd left enabled
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_empty(fy_shape(count, classes));
  fy_set_grad_enabled(false);
  for (int64_t i = 0; i < count; i += batch) {
    fy_scope {
      int64_t some = count - i < batch ? count - i : batch;
      FyTensor *samples = fy_to(fy_narrow(data, 0, i, some), device); // (some, features)
      fy_copy_(fy_narrow(scores, 0, i, some), fy_forward(model, samples));
    }
  }
  fy_set_grad_enabled(true);
  return scores;
}
