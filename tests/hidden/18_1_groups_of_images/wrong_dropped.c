// mistake: last batch dropped
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    int k = 0;
    for (int64_t i = 0; i + batch <= fy_size_at(all, 0); i += batch)
      parts[k++] = fy_forward(model, fy_narrow(all, 0, i, batch));
    scores = fy_cat((FyTensors){.items = parts, .count = k}, 0);
  }
  return scores;
}
