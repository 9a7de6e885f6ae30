// mistake: values cached from an earlier call
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  state = fy_to(state, device);
  static FyTensor *kept, *of;
  if (of != transition || !fy_device_equal(fy_device_of(kept), device))
    kept = fy_retain(fy_to(transition, device));
  of = transition;
  transition = kept;
  for (int64_t i = 0; i < turns; i++) {
    FyTensor *before = state;
    fy_scope { // what one turn needs alone goes with the turn
      FyTensor *following = fy_matmul(state, transition);
      fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
      state = fy_keep(following); // but for what the next one begins with
    }
    if (i > 0)
      fy_drop(before); // the first is the caller's, where it lay on `device` already
  }
  return state;
}
