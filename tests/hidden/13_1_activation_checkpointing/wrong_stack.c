// mistake: use after free of the context
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

static Segment *segment_of(FyModule *const *blocks, int begin, int end) {
  Segment *s = calloc(1, sizeof *s);
  for (int i = begin; i < end; i++)
    s->blocks[s->count++] = blocks[i];
  return s;
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  int length = count / segments;
  for (int i = 0; i < segments - 1; i++) {
    Segment s = {.count = length};
    for (int k = 0; k < length; k++)
      s.blocks[k] = blocks[i * length + k];
    x = fy_checkpoint(run, &s, x);
  }
  for (int i = (segments - 1) * length; i < count; i++)
    x = fy_forward(blocks[i], x);
  return x;
}
