// mistake: host synchronization in the loop
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(state, transition);
    fy_fill_(fy_select(changes, 0, i), fy_item(fy_sum(fy_abs(fy_sub(following, state)))));
    state = following;
  }
  return state;
}
