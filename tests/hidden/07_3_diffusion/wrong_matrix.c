// mistake: loop-invariant copy in the loop
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  state = fy_to(state, device);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(state, fy_to(transition, device));
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
    state = following;
  }
  return state;
}
