// mistake: caller's tensor freed
#include "ferry.h"
#include <stdlib.h>

typedef struct Segment {
  int count;
  FyModule *blocks[]; // a copy: the caller's array is gone when backward comes
} Segment;

static FyTensor *run_segment(void *context, FyTensor *const *inputs) {
  const Segment *s = context;
  FyTensor *x = inputs[0];
  for (int i = 0; i < s->count; i++)
    x = fy_forward(s->blocks[i], x);
  return x;
}

// Each segment has a context of its own, which is freed when no graph needs it.
static FyTensor *run_checkpointed(FyModule *const *blocks, int count, FyTensor *x) {
  Segment *s = malloc(sizeof *s + (size_t)count * sizeof *s->blocks);
  if (!s)
    fy_raise(FY_OUT_OF_MEMORY_ERROR, "no memory for a segment");
  s->count = count;
  for (int i = 0; i < count; i++)
    s->blocks[i] = blocks[i];
  return fy_checkpoint_with(fy_checkpoint_options(run_segment, s, .free_context = free), fy_list(x));
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  int length = count / segments;
  FyTensor *input = x;
  for (int i = 0; i < segments - 1; i++)
    x = run_checkpointed(blocks + i * length, length, x);
  for (int i = (segments - 1) * length; i < count; i++)
    x = fy_forward(blocks[i], x);
  fy_drop(input);
  return x;
}
