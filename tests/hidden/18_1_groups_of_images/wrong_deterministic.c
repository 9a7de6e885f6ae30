// mistake: deterministic mode left on
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    (void)batch;
    fy_backends_set_deterministic(true);
    for (int i = 0; i < count; i++)
      parts[i] = fy_forward(model, groups[i]);
    scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
  }
  return scores;
}
