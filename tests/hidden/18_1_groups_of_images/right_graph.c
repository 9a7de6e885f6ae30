// missing star: autograd graph recorded
#include "ferry.h"

FyTensor *score_all(FyModule *model, FyTensor *const *groups, int count, int64_t batch) {
  FyTensor *parts[4096];
  FyTensor *all = fy_cat((FyTensors){.items = (FyTensor **)groups, .count = count}, 0);
  const int64_t n = fy_size_at(all, 0);
  int k = 0;
  for (int64_t i = 0; i < n; i += batch)
    parts[k++] = fy_forward(model, fy_narrow(all, 0, i, i + batch < n ? batch : n - i));
  return fy_cat((FyTensors){.items = parts, .count = k}, 0);
}
