// All states are kept, and the changes computed behind the loop.
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  FyTensor *states = fy_empty(fy_shape(turns + 1, fy_numel(state)), .device = device);
  fy_copy_(fy_select(states, 0, 0), state);
  for (int64_t i = 0; i < turns; i++) {
    fy_scope {
      fy_copy_(fy_select(states, 0, i + 1), fy_matmul(fy_select(states, 0, i), transition));
    }
  }
  if (turns) {
    FyTensor *steps = fy_sub(fy_narrow(states, 0, 1, turns), fy_narrow(states, 0, 0, turns));
    fy_copy_(changes, fy_sum_dim(fy_abs(steps), 1, false));
  }
  return fy_select(states, 0, turns);
}
