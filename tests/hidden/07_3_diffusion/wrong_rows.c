// mistake: many small transfers
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  FyTensor *matrix = fy_empty(fy_size(transition), .device = device);
  for (int64_t i = 0; i < fy_size_at(transition, 0); i++)
    fy_copy_(fy_select(matrix, 0, i), fy_select(transition, 0, i));
  state = fy_to(state, device);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(state, matrix);
    fy_copy_(fy_select(changes, 0, i), fy_sum(fy_abs(fy_sub(following, state))));
    state = following;
  }
  return state;
}
