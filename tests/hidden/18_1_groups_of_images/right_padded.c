// Each group is padded to a batch; the scores of the padding are cut off.
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    for (int i = 0; i < count; i++) {
      FySize size = fy_size(groups[i]);
      const int64_t rows = size.dim[0];
      size.dim[0] = batch - rows;
      FyTensor *filled = rows == batch
                             ? groups[i]
                             : fy_cat((FyTensors){.items = (FyTensor *[]){groups[i], fy_zeros(size)}, .count = 2}, 0);
      parts[i] = fy_narrow(fy_forward(model, filled), 0, 0, rows);
    }
    scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
  }
  return scores;
}
