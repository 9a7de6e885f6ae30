// mistake: fewer images than a batch
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  fy_no_grad {
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int64_t pictures = fy_size_at(all, 0);
    FyTensor *parts[4096];
    int part_count = 0;
    // The last window begins earlier, so that it is full; what it has in common with the one before is left out.
    for (int64_t i = 0; i < pictures; i += batch) {
      const int64_t begin = i + batch < pictures ? i : pictures - batch;
      FyTensor *part = fy_forward(model, fy_narrow(all, 0, begin, batch));
      parts[part_count++] = fy_narrow(part, 0, i - begin, begin + batch - i);
    }
    scores = fy_cat((FyTensors){.items = parts, .count = part_count}, 0);
  }
  return scores;
}
