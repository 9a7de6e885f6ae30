// mistake: zeros returned
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *scores = NULL;
  (void)count;
  (void)batch;
  fy_no_grad {
    scores = fy_forward(model, groups[0]);
    int64_t n = 0;
    for (int i = 0; i < count; i++)
      n += fy_size_at(groups[i], 0);
    scores = fy_zeros(fy_shape(n, fy_size_at(scores, 1)));
  }
  return scores;
}
