// A scope for every turn, and one tensor that holds the state throughout.
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  FyTensor *matrix = fy_to(transition, device), *now = fy_clone(fy_to(state, device));
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    fy_scope {
      FyTensor *following = fy_view(fy_matmul(fy_unsqueeze(now, 0), matrix), fy_shape(-1));
      fy_copy_(fy_narrow(changes, 0, i, 1), fy_sum_dim(fy_abs(fy_sub(now, following)), 0, true));
      fy_copy_(now, following);
    }
  }
  return now;
}
