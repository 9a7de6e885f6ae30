// SPDX-License-Identifier: MIT
// The control-flow graph as observed: which basic block followed which; and the immediate post-dominator of each
// block, where a GPU reconverges the lanes of a diverged warp. Post-dominators are computed by the iterative
// data-flow algorithm on bit sets (Allen and Cocke, 1972; Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
// Algorithm", 2001, describe it and a faster one): observed graphs are small.
#include <stdlib.h>
#include <string.h>

#include "inspect/simt/simt_stack.h"

enum { EXIT_NODE = 0 }; // the function returns, or its execution was not observed further

struct node {
  uint32_t block;
  int *next;
  int next_count, next_room;
  int post_dominator; // EXIT_NODE: only the function's end
};

// A cache of edges that are known: a hash table of the last ones.
enum { KNOWN_EDGES = 512 };

struct flow {
  struct node *nodes;
  int count, room;
  int *by_block; // hash table of nodes, -1: free
  int table;
  bool stale;
  struct {
    uint32_t from, to;
  } known[KNOWN_EDGES]; // from: 0: free
};

struct flow *flow_new(void) {
  struct flow *flow = inspect_allocate(sizeof *flow);
  flow->room = 64;
  flow->nodes = inspect_allocate((size_t)flow->room * sizeof *flow->nodes);
  flow->count = 1;
  flow->table = 256;
  flow->by_block = inspect_allocate((size_t)flow->table * sizeof *flow->by_block);
  memset(flow->by_block, -1, (size_t)flow->table * sizeof *flow->by_block);
  return flow;
}

static int *slot(const struct flow *flow, uint32_t block) {
  uint32_t i = block * 2654435761u;
  for (;; i++) {
    int *at = &flow->by_block[i % (uint32_t)flow->table];
    if (*at < 0 || flow->nodes[*at].block == block)
      return at;
  }
}

static void grow(struct flow *flow) {
  flow->room *= 2;
  flow->nodes = inspect_resize(flow->nodes, (size_t)flow->room * sizeof *flow->nodes);
  flow->table = 4 * flow->room;
  flow->by_block = inspect_resize(flow->by_block, (size_t)flow->table * sizeof *flow->by_block);
  memset(flow->by_block, -1, (size_t)flow->table * sizeof *flow->by_block);
  for (int i = 1; i < flow->count; i++)
    *slot(flow, flow->nodes[i].block) = i;
}

static int node_of(struct flow *flow, uint32_t block) {
  if (block == 0)
    return EXIT_NODE;
  int *at = slot(flow, block);
  if (*at >= 0)
    return *at;
  if (flow->count == flow->room) {
    grow(flow);
    at = slot(flow, block);
  }
  flow->nodes[flow->count] = (struct node){.block = block};
  flow->stale = true;
  return *at = flow->count++;
}

static void add_edge(struct flow *flow, uint32_t from, uint32_t to) {
  int a = node_of(flow, from), b = node_of(flow, to);
  struct node *node = &flow->nodes[a];
  for (int i = 0; i < node->next_count; i++)
    if (node->next[i] == b)
      return;
  if (node->next_count == node->next_room) {
    node->next_room = node->next_room ? 2 * node->next_room : 4;
    node->next = inspect_resize(node->next, (size_t)node->next_room * sizeof *node->next);
  }
  node->next[node->next_count++] = b;
  flow->stale = true;
}

static inline void edge(struct flow *flow, uint32_t from, uint32_t to) {
  const uint32_t i = (from * 2654435761u ^ to * 2246822519u) >> 16 & (KNOWN_EDGES - 1);
  if (from == 0 || (flow->known[i].from == from && flow->known[i].to == to))
    return;
  add_edge(flow, from, to);
  flow->known[i].from = from;
  flow->known[i].to = to;
}

void flow_learn(struct flow *flow, const struct lane *lane, unsigned depth, const uint32_t last[MAX_DEPTH]) {
  uint32_t at[MAX_DEPTH];
  memcpy(at, last, sizeof at);
  for (uint32_t i = 0; i < lane->event_count; i++) {
    uint32_t event = lane->events[i];
    if (event_kind(event) == EVENT_ENTER) {
      depth += depth + 1 < MAX_DEPTH;
      at[depth] = 0;
    } else if (event_kind(event) == EVENT_LEAVE) {
      edge(flow, at[depth], 0);
      at[depth] = 0;
      depth -= depth > 0;
    } else if (is_block(event)) {
      edge(flow, at[depth], event);
      at[depth] = event;
    }
  }
  for (; depth < MAX_DEPTH; depth--) // the lane waits here, or has ended
    edge(flow, at[depth], 0);
}

// ---- immediate post-dominators ------------------------------------------------------------------------------------------

// Sets of nodes, a row of bits per node: its post-dominators.
typedef uint64_t Bits;
enum { BITS = 64 };

static bool intersect_successors(struct flow *flow, Bits *sets, size_t words, int i, Bits *work) {
  const struct node *node = &flow->nodes[i];
  memset(work, node->next_count ? 0xff : 0, words * sizeof *work);
  for (int e = 0; e < node->next_count; e++)
    for (size_t w = 0; w < words; w++)
      work[w] &= sets[(size_t)node->next[e] * words + w];
  work[i / BITS] |= (Bits)1 << i % BITS;
  bool changed = memcmp(work, sets + (size_t)i * words, words * sizeof *work) != 0;
  memcpy(sets + (size_t)i * words, work, words * sizeof *work);
  return changed;
}

static int size_of(const Bits *set, size_t words) {
  int size = 0;
  for (size_t w = 0; w < words; w++)
    size += __builtin_popcountll(set[w]);
  return size;
}

// The immediate post-dominator is the one with the most post-dominators of its own.
static int nearest(const Bits *sets, size_t words, int count, int i, const int *sizes) {
  int best = EXIT_NODE, most = -1;
  for (int other = 0; other < count; other++)
    if (other != i && sets[(size_t)i * words + (size_t)other / BITS] >> other % BITS & 1 && sizes[other] > most) {
      best = other;
      most = sizes[other];
    }
  return best;
}

static void find_post_dominators(struct flow *flow) {
  size_t count = (size_t)flow->count, words = (count + BITS - 1) / BITS;
  Bits *sets = inspect_allocate(count * words * sizeof *sets), *work = inspect_allocate(words * sizeof *work);
  int *sizes = inspect_allocate(count * sizeof *sizes);
  memset(sets + words, 0xff, (count - 1) * words * sizeof *sets);
  sets[0] = 1;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = flow->count - 1; i > 0; i--)
      changed |= intersect_successors(flow, sets, words, i, work);
  }
  for (size_t i = 0; i < count; i++)
    sizes[i] = size_of(sets + i * words, words);
  for (int i = 1; i < flow->count; i++)
    flow->nodes[i].post_dominator = nearest(sets, words, flow->count, i, sizes);
  free(sets);
  free(work);
  free(sizes);
  flow->stale = false;
}

uint32_t flow_post_dominator(struct flow *flow, uint32_t block) {
  if (flow->stale)
    find_post_dominators(flow);
  int node = *slot(flow, block);
  return node < 0 ? 0 : flow->nodes[flow->nodes[node].post_dominator].block;
}
