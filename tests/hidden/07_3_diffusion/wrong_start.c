// mistake: state not updated in the loop
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  FyTensor *start = fy_to(state, device);
  transition = fy_to(transition, device);
  state = start;
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(start, transition);
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, start))));
    state = following;
  }
  return state;
}
