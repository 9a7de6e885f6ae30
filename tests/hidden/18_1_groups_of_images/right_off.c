// Turns benchmark mode off for the loop, and restores it.
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    const bool mode = fy_backends_benchmark();
    (void)batch;
    fy_backends_set_benchmark(false);
    for (int i = 0; i < count; i++)
      parts[i] = fy_forward(model, groups[i]);
    fy_backends_set_benchmark(mode);
    scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
  }
  return scores;
}
