// The blocks that remain are distributed over the first segments.
#include "ferry.h"
#include <stdlib.h>

typedef struct Segment {
  int count;
  FyModule *blocks[];
} Segment;

static FyTensor *run(FyModule *const *blocks, int count, FyTensor *x) {
  FyTensor *given = x;
  for (int i = 0; i < count; i++) {
    FyTensor *next = fy_forward(blocks[i], x);
    if (x != given && x != next)
      fy_drop(x);
    x = next;
  }
  return x;
}

static FyTensor *run_segment(void *context, FyTensor *const *inputs) {
  Segment *segment = context;
  return run(segment->blocks, segment->count, inputs[0]);
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  int begin = 0;
  FyTensor *given = x;
  for (int k = 0; k < segments - 1; k++) {
    int each = count / segments + (k < count % segments);
    Segment *segment = malloc(sizeof *segment + (size_t)each * sizeof(FyModule *));
    fy_check(segment != NULL, FY_OUT_OF_MEMORY_ERROR, "no memory for a segment");
    segment->count = each;
    for (int i = 0; i < each; i++)
      segment->blocks[i] = blocks[begin + i];
    FyTensor *next = fy_checkpoint_with(fy_checkpoint_options(run_segment, segment, .free_context = free), fy_list(x));
    begin += each;
    if (x != given && x != next)
      fy_drop(x);
    x = next;
  }
  FyTensor *next = run(blocks + begin, count - begin, x);
  if (x != given && x != next)
    fy_drop(x);
  return next;
}
