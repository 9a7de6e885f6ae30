#include "ferry.h"
#include <stdlib.h>

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  FyModule *layers[257] = {NULL};
  for (int i = 0; i < count; i++)
    layers[i] = blocks[i];
  return fy_checkpoint_sequential(fy_nn_sequential_with(layers), segments, x);
}
