// mistake: hard-coded device
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  (void)device;
  state = fy_cuda(state);
  transition = fy_cuda(transition);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(state, transition);
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
    state = following;
  }
  return state;
}
