// mistake: no batching
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_zeros(fy_shape(count, classes));
  fy_no_grad {
    (void)batch;
    for (int64_t i = 0; i < count; i++) {
      FyTensor *sample = fy_unsqueeze(fy_to(fy_select(data, 0, i), device), 0);
      fy_copy_(fy_select(scores, 0, i), fy_squeeze(fy_forward(model, sample)));
    }
  }
  return scores;
}
