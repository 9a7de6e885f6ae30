// All states are kept as rows; the changes are computed together, after the loop.
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  int64_t n = fy_numel(state), turns = fy_numel(changes);
  FyTensor *rows = fy_empty(fy_shape(turns + 1, n), .device = device), *matrix = fy_to(transition, device);
  fy_copy_(fy_select(rows, 0, 0), state);
  for (int64_t i = 0; i < turns; i++) {
    fy_scope {
      fy_copy_(fy_narrow(rows, 0, i + 1, 1), fy_matmul(fy_narrow(rows, 0, i, 1), matrix));
    }
  }
  FyTensor *steps = fy_sub(fy_narrow(rows, 0, 1, turns), fy_narrow(rows, 0, 0, turns));
  fy_copy_(changes, fy_sum_dim(fy_abs(steps), 1, false));
  return fy_select(rows, 0, turns);
}
