// mistake: caller's tensor freed
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  for (int64_t i = 0; i < turns; i++) {
    FyTensor *before = state;
    fy_scope { // what one turn needs alone goes with the turn
      FyTensor *following = fy_matmul(state, transition);
      fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
      state = fy_keep(following); // but for what the next one begins with
    }
    fy_drop(before);
  }
  return state;
}
