// mistake: training mode not restored
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  int64_t count = fy_size_at(data, 0);
  FyTensor *scores = fy_empty(fy_shape(count, classes));
  fy_eval(model);
  fy_no_grad {
    for (int64_t i = 0; i < count; i += batch) {
      fy_scope {
        int64_t rows = i + batch < count ? batch : count - i;
        fy_copy_(fy_narrow(scores, 0, i, rows), fy_forward(model, fy_to(fy_narrow(data, 0, i, rows), device)));
      }
    }
  }
  fy_train(model);
  return scores;
}
