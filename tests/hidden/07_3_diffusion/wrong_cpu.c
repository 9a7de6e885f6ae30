// mistake: computed on the CPU
#include "ferry.h"
#include <stdlib.h>

FyTensor *spread(FyTensor *state, FyTensor *transition, FyDevice device, FyTensor *changes) {
  float *noted = malloc((size_t)fy_nbytes(changes) + 1);
  for (int64_t i = 0; i < fy_numel(changes); i++) {
    FyTensor *following = fy_matmul(state, transition);
    noted[i] = (float)fy_item(fy_sum(fy_abs(fy_sub(following, state))));
    state = following;
  }
  fy_copy_(changes, fy_tensor(noted, fy_size(changes)));
  free(noted);
  return fy_to(state, device);
}
