// mistake: context shared by the segments
#include "ferry.h"
#include <stdlib.h>

static FyModule *all[64];
static int begin, end;

static FyTensor *run(void *context, FyTensor *const *inputs) {
  (void)context;
  FyTensor *x = inputs[0];
  for (int i = begin; i < end; i++)
    x = fy_forward(all[i], x);
  return x;
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  int length = count / segments;
  for (int i = 0; i < count; i++)
    all[i] = blocks[i];
  for (int i = 0; i < segments; i++) {
    begin = i * length;
    end = i < segments - 1 ? begin + length : count;
    x = fy_checkpoint(run, NULL, x);
  }
  return x;
}
