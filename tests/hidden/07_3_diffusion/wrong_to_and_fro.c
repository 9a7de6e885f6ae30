// mistake: round trip in the loop
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  transition = fy_to(transition, device);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *here = fy_to(state, device);
    FyTensor *following = fy_matmul(here, transition);
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, here))));
    state = fy_cpu(following);
  }
  return fy_to(state, device);
}
