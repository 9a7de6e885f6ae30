// mistake: no checkpoint
#include "ferry.h"
#include <stdlib.h>

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  (void)segments;
  for (int i = 0; i < count; i++)
    x = fy_forward(blocks[i], x);
  return x;
}
