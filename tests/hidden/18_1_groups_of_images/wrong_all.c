// mistake: batch size exceeded
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  (void)batch;
  fy_no_grad {
    scores = fy_forward(model, fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0));
  }
  return scores;
}
