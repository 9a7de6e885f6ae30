// mistake: computed on the host in the loop
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t turns = fy_numel(changes);
  state = fy_to(state, device);
  transition = fy_to(transition, device);
  FyTensor *before = fy_cpu(state);
  for (int64_t i = 0; i < turns; i++) {
    FyTensor *following = fy_matmul(state, transition);
    FyTensor *here = fy_cpu(following);
    fy_fill_(fy_select(changes, 0, i), 0);
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(here, before))));
    before = here;
    state = following;
  }
  return state;
}
