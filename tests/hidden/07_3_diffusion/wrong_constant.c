// mistake: a constant in place of the result
#include "ferry.h"

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  (void)transition;
  fy_zero_(changes);
  return fy_zeros(fy_size(state), .device = device);
}
