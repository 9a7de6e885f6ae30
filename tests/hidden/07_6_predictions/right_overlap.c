// The last batch overlaps the one before.
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_empty(fy_shape(count, classes));
  batch = batch < count ? batch : count;
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        int64_t at = i + batch <= count ? i : count - batch;
        FyTensor *samples = fy_to(fy_narrow(data, 0, at, batch), device); // (batch, features)
        fy_copy_(fy_narrow(scores, 0, at, batch), fy_forward(model, samples));
      }
    }
  }
  return scores;
}
