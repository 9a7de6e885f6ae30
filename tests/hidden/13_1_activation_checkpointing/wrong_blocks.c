// mistake: one checkpoint per block
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
  (void)segments;
  for (int i = 0; i < count; i++)
    x = fy_checkpoint_with(fy_checkpoint_options(run, segment_of(blocks, i, i + 1), .free_context = free), fy_list(x));
  return x;
}
