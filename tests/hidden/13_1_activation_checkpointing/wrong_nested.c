// mistake: nested checkpoints
#include "ferry.h"
#include <stdlib.h>

// Halves in halves, each a checkpoint, until a part is no longer than a segment.
typedef struct Part {
  int length, count;
  FyModule *blocks[64];
} Part;

static FyTensor *run(void *context, FyTensor *const *inputs);

static FyTensor *checkpointed(FyModule *const *blocks, int count, int length, FyTensor *x) {
  Part *p = calloc(1, sizeof *p);
  p->length = length;
  p->count = count;
  for (int i = 0; i < count; i++)
    p->blocks[i] = blocks[i];
  return fy_checkpoint_with(fy_checkpoint_options(run, p, .free_context = free), fy_list(x));
}

static FyTensor *run(void *context, FyTensor *const *inputs) {
  const Part *p = context;
  FyTensor *x = inputs[0];
  if (p->count > p->length) {
    x = checkpointed(p->blocks, p->count / 2, p->length, x);
    return checkpointed(p->blocks + p->count / 2, p->count - p->count / 2, p->length, x);
  }
  for (int i = 0; i < p->count; i++)
    x = fy_forward(p->blocks[i], x);
  return x;
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  return checkpointed(blocks, count, count / segments, x);
}
