// mistake: context shared by the segments
#include "ferry.h"
#include <stdlib.h>

typedef struct Segment {
  int count;
  FyModule *blocks[64];
} Segment;

static FyTensor *run(void *context, FyTensor *const *inputs) {
  const Segment *s = context;
  FyTensor *x = inputs[0];
  for (int i = 0; i < s->count; i++)
    x = fy_forward(s->blocks[i], x);
  return x;
}

static Segment current;

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  int length = count / segments;
  for (int i = 0; i < segments; i++) {
    current.count = 0;
    for (int k = i * length; k < (i < segments - 1 ? (i + 1) * length : count); k++)
      current.blocks[current.count++] = blocks[k];
    x = fy_checkpoint(run, &current, x);
  }
  return x;
}
