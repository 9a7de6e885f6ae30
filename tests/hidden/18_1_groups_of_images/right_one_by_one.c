// missing star: too many forward passes
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int n = (int)fy_size_at(all, 0);
    (void)batch;
    for (int i = 0; i < n; i++)
      parts[i] = fy_forward(model, fy_narrow(all, 0, i, 1));
    scores = fy_cat((FyTensors){.items = parts, .count = n}, 0);
  }
  return scores;
}
