// All images in batches of one size: the last one is padded.
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
    const int64_t n = fy_size_at(all, 0), missing = (batch - n % batch) % batch;
    FySize size = fy_size(all);
    size.dim[0] = missing;
    if (missing)
      all = fy_cat((FyTensors){.items = (FyTensor *[]){all, fy_zeros(size)}, .count = 2}, 0);
    int k = 0;
    for (int64_t i = 0; i < n; i += batch)
      parts[k++] = fy_forward(model, fy_narrow(all, 0, i, batch));
    scores = fy_narrow(fy_cat((FyTensors){.items = parts, .count = k}, 0), 0, 0, n);
  }
  return scores;
}
