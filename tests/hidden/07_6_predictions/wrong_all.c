// mistake: batch size exceeded
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  (void)classes;
  (void)batch;
  FyTensor *scores = NULL;
  fy_no_grad {
    scores = fy_cpu(fy_forward(model, fy_to(data, device)));
  }
  return scores;
}
