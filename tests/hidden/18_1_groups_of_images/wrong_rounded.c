// mistake: algorithm search for every size
// also: batch size exceeded
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096], *scores = NULL;
  fy_no_grad {
    (void)batch;
    for (int i = 0; i < count; i++) { // filled up to even sizes: half as many, which is still too many
      FySize size = fy_size(groups[i]);
      const int64_t rows = size.dim[0];
      size.dim[0] = 1;
      FyTensor *filled = rows % 2 == 0
                             ? groups[i]
                             : fy_cat((FyTensors){.items = (FyTensor *[]){groups[i], fy_zeros(size)}, .count = 2}, 0);
      parts[i] = fy_narrow(fy_forward(model, filled), 0, 0, rows);
    }
    scores = fy_cat((FyTensors){.items = parts, .count = count}, 0);
  }
  return scores;
}
