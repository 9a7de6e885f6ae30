#include "ferry.h"
#include <stdlib.h>

// A linked list of blocks per segment, which is freed from its head.
typedef struct Link {
  FyModule *block;
  struct Link *next;
} Link;

static void free_links(void *context) {
  for (Link *link = context; link;) {
    Link *next = link->next;
    free(link);
    link = next;
  }
}

static FyTensor *run(void *context, FyTensor *const *inputs) {
  FyTensor *x = inputs[0];
  for (const Link *link = context; link; link = link->next)
    x = fy_forward(link->block, x);
  return x;
}

FyTensor *forward_in_segments(FyModule *const *blocks, int count, int segments, FyTensor *x) {
  const int each = count / segments;
  int next = 0;
  while (segments-- > 1) {
    Link *head = NULL, **end = &head;
    for (int left = each; left > 0; left--) {
      *end = calloc(1, sizeof **end);
      (*end)->block = blocks[next++];
      end = &(*end)->next;
    }
    x = fy_checkpoint_with(fy_checkpoint_options(run, head, .free_context = free_links), fy_list(x));
  }
  while (next < count)
    x = fy_forward(blocks[next++], x);
  return x;
}
