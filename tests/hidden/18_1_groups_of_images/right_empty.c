// missing star: empty batch
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  fy_no_grad {
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int64_t pictures = fy_size_at(all, 0);
    FyTensor *parts[4096];
    int part_count = 0;
    for (int64_t i = 0; i < pictures + 1; i += batch) { // two sizes at most: the batch, and what is left
      const int64_t rows = i + batch < pictures ? batch : pictures - i;
      parts[part_count++] = fy_forward(model, fy_narrow(all, 0, i, rows));
    }
    scores = fy_cat((FyTensors){.items = parts, .count = part_count}, 0);
  }
  return scores;
}
