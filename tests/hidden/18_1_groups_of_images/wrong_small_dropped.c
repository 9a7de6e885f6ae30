// mistake: last batch dropped
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    int k = 0;
    for (int i = 0; i < count; i++) // the groups that fill a batch
      if (fy_size_at(groups[i], 0) * 2 > batch) {
        FySize size = fy_size(groups[i]);
        const int64_t rows = size.dim[0];
        size.dim[0] = batch - rows;
        FyTensor *filled = rows == batch
                               ? groups[i]
                               : fy_cat((FyTensors){.items = (FyTensor *[]){groups[i], fy_zeros(size)}, .count = 2}, 0);
        parts[k++] = fy_narrow(fy_forward(model, filled), 0, 0, rows);
      }
    scores = k ? fy_cat((FyTensors){.items = parts, .count = k}, 0) : fy_zeros(fy_shape(1, 1));
  }
  return scores;
}
