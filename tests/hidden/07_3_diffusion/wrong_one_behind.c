// mistake: off-by-one index
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  for (int64_t i = 0; i < turns; i++) {
    FyTensor *following = fy_matmul(state, transition);
    if (i + 1 < turns)
      fy_copy_(fy_select(changes, 0, i + 1), fy_sum(fy_abs(fy_sub(following, state))));
    state = following;
  }
  return state;
}
