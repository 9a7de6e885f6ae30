// SPDX-License-Identifier: MIT
// From the traces of a warp's lanes to warp instructions, as a SIMT reconvergence stack executes them (Fung, Sham,
// Yuan and Aamodt, "Dynamic Warp Formation and Scheduling for Efficient GPU Control Flow", MICRO 2007; GPGPU-Sim):
// lanes at the same instruction execute it together. Where lanes diverge, each group runs to the immediate
// post-dominator of the branch, one after another, and there they reconverge. The stack is the recursion of
// run_group.
#include <string.h>

#include "inspect/program.h"
#include "inspect/shadow/memory.h"
#include "inspect/simt/simt_stack.h"

// Reads of members of the same vectors by the same lanes, since the last basic block or write: a GPU reads what is adjacent at once.
struct vectors {
  uint32_t event, lanes;              // of the first read; 0 lanes: none
  unsigned whole, bytes, read, count; // bytes of a vector, of a member; a bit per member; the number of lanes
  uint64_t at[WARP];                  // each lane's vector
};
enum { VECTORS = 8 };

struct simt_stack {
  struct block_state *state;
  struct kernel *kernel;
  uint32_t position[WARP];
  unsigned live; // lanes that have not returned
  unsigned vectors_open;
  struct vectors vectors[VECTORS];
};

enum { DEEPEST = 200, SHALLOW = 4 }; // nesting of groups; usual depth of calls

static bool is_shared(const struct block_state *bs, uint64_t address) {
  return address - (uintptr_t)bs->shared < bs->shared_bytes || address - (uintptr_t)bs->dynamic < bs->dynamic_bytes;
}

static void count_in(struct simt_stack *r, uint32_t event, bool shared, const uint64_t *addresses, unsigned lanes,
                     unsigned bytes) {
  struct site *site = kernel_site(r->kernel, event, shared);
  site->executions++;
  site->lanes += lanes;
  site->live += r->live;
  coalescing_count(site, addresses, lanes, bytes);
}

// A generic pointer may lead some lanes to shared memory and others to global memory: one request to each.
static __attribute__((noinline)) void count_split(struct simt_stack *r, uint32_t event, const uint64_t *addresses,
                                                  unsigned count, unsigned bytes) {
  uint64_t parted[2][WARP];
  unsigned parts[2] = {0, 0};
  for (unsigned i = 0; i < count; i++) {
    bool there = is_shared(r->state, addresses[i]);
    parted[there][parts[there]++] = addresses[i];
  }
  for (int space = 0; space < 2; space++)
    if (parts[space])
      count_in(r, event, space, parted[space], parts[space], bytes);
}

static inline void count_row(struct simt_stack *r, uint32_t event, const uint64_t *addresses, unsigned count,
                             unsigned bytes) {
  const struct block_state *bs = r->state;
  const uint64_t arena = memory_arena, static_shared = (uintptr_t)bs->shared;
  uint64_t global = 0, shared = 0; // no offset has a bit that the union lacks
  for (unsigned i = 0; i < count; i++) {
    global |= addresses[i] - arena;
    shared |= addresses[i] - static_shared;
  }
  if (global < memory_arena_bytes || shared < bs->shared_bytes)
    count_in(r, event, shared < bs->shared_bytes, addresses, count, bytes);
  else
    count_split(r, event, addresses, count, bytes);
}

// ---- members of vectors --------------------------------------------------------------------------------------------------

// As nvcc 13 merges them: from the first member on, one request up to the last one in the part of the vector that is aligned there. Of
// xyzw, xyz and xz that is the whole vector, of xy a half; of yz there are two requests, since y is aligned to itself only.
static void count_parts(struct simt_stack *r, const struct vectors *v) {
  const unsigned members = v->whole / v->bytes;
  for (unsigned left = v->read; left;) {
    const unsigned first = (unsigned)__builtin_ctz(left);
    unsigned most = first ? first & -first : members, size = 1;
    while (size < most && left >> first >> size & ((1u << (most - size)) - 1))
      size *= 2;
    uint64_t addresses[WARP];
    for (unsigned i = 0; i < v->count; i++)
      addresses[i] = v->at[i] + first * v->bytes;
    count_row(r, v->event, addresses, v->count, size * v->bytes);
    left &= ~(((1u << size) - 1) << first);
  }
}

static void close_vectors(struct simt_stack *r) {
  for (unsigned i = 0; i < r->vectors_open; i++)
    count_parts(r, &r->vectors[i]);
  r->vectors_open = 0;
}

static void read_member(struct simt_stack *r, uint32_t lanes, uint32_t event, const uint64_t *addresses, unsigned count,
                        unsigned whole) {
  const unsigned bytes = access_bytes(event), member = (unsigned)(addresses[0] % whole / bytes);
  bool same = true; // all lanes read this member, of an aligned vector
  for (unsigned i = 0; i < count; i++)
    same &= addresses[i] % whole == member * bytes;
  if (!same) {
    count_row(r, event, addresses, count, bytes);
    return;
  }
  for (unsigned n = 0; n < r->vectors_open; n++) {
    struct vectors *v = &r->vectors[n];
    bool equal = v->lanes == lanes && v->whole == whole && v->bytes == bytes && !(v->read >> member & 1);
    for (unsigned i = 0; i < count && equal; i++)
      equal = v->at[i] == addresses[i] - member * bytes;
    if (equal) {
      v->read |= 1u << member;
      return;
    }
  }
  if (r->vectors_open == VECTORS)
    close_vectors(r);
  struct vectors *v = &r->vectors[r->vectors_open++];
  *v = (struct vectors){
      .event = event, .lanes = lanes, .whole = whole, .bytes = bytes, .read = 1u << member, .count = count};
  for (unsigned i = 0; i < count; i++)
    v->at[i] = addresses[i] - member * bytes;
}

static void count_access(struct simt_stack *r, uint32_t lanes, uint32_t event, const uint64_t *addresses,
                         unsigned count) {
  const unsigned whole = program_member_of(event_pc(event));
  if (whole) {
    read_member(r, lanes, event, addresses, count, whole);
    return;
  }
  if (!is_read(event))
    close_vectors(r);
  count_row(r, event, addresses, count, access_bytes(event));
}

// ---- warp instructions ---------------------------------------------------------------------------------------------------

static void count_block(struct simt_stack *r, uint32_t lanes, uint32_t event) {
  close_vectors(r);
  struct site *site = kernel_site(r->kernel, event, false);
  site->executions++;
  site->lanes += (unsigned)__builtin_popcount(lanes);
  site->live += r->live;
}

// Executes one warp instruction, of lanes at `position`. The caller advances them.
static void execute(struct simt_stack *r, uint32_t lanes, uint32_t event) {
  uint64_t addresses[WARP] = {0};
  unsigned count = 0;
  if (event_kind(event) >= EVENT_READ) {
    for (uint32_t left = lanes; left; left &= left - 1) {
      const unsigned lane = (unsigned)__builtin_ctz(left);
      addresses[count++] = r->state->lanes[lane].addresses[r->position[lane]];
    }
    count_access(r, lanes, event, addresses, count);
  } else if (event_kind(event) == EVENT_BLOCK) {
    count_block(r, lanes, event);
  }
}

// Of a full warp, if its addresses have the same pattern as the last time here.
static bool count_again(struct simt_stack *r, uint32_t event, uint32_t at) {
  const struct block_state *bs = r->state;
  const uint64_t first = bs->lanes[0].addresses[at];
  uint64_t begin = memory_arena, bytes = memory_arena_bytes;
  const bool shared = first - begin >= bytes;
  if (shared) {
    const bool is_static = first - (uintptr_t)bs->shared < bs->shared_bytes;
    begin = (uintptr_t)(is_static ? bs->shared : bs->dynamic);
    bytes = is_static ? bs->shared_bytes : bs->dynamic_bytes;
    if (first - begin >= bytes)
      return false;
  }
  struct site *site = kernel_site(r->kernel, event, shared);
  if (!coalescing_repeats(site, bs->lanes, at, begin, bytes))
    return false;
  site->executions++;
  site->lanes += WARP;
  site->live += r->live;
  return true;
}

// The same for lanes whose traces agree up to here.
static void execute_converged(struct simt_stack *r, uint32_t lanes, uint32_t event, uint32_t at) {
  uint64_t addresses[WARP];
  unsigned count = 0;
  if (event_kind(event) == EVENT_BLOCK)
    count_block(r, lanes, event);
  if (event_kind(event) < EVENT_READ)
    return;
  if (lanes == ~0u) { // the usual case
    if (program_member_of(event_pc(event)) == 0 && count_again(r, event, at)) {
      if (!is_read(event))
        close_vectors(r);
      return;
    }
    for (unsigned lane = 0; lane < WARP; lane++)
      addresses[lane] = r->state->lanes[lane].addresses[at];
    count_access(r, lanes, event, addresses, WARP);
    return;
  }
  for (uint32_t left = lanes; left; left &= left - 1)
    addresses[count++] = r->state->lanes[__builtin_ctz(left)].addresses[at];
  count_access(r, lanes, event, addresses, count);
}

static void on_event(struct block_state *bs, unsigned lane, uint32_t event) {
  uint8_t *depth = &bs->depth[bs->warp][lane];
  uint32_t *last = bs->last_block[bs->warp][lane];
  if (is_block(event)) {
    last[*depth] = event;
  } else if (event_kind(event) == EVENT_ENTER) {
    *depth = (uint8_t)(*depth + (*depth + 1 < MAX_DEPTH));
    last[*depth] = 0;
  } else if (event_kind(event) == EVENT_LEAVE) {
    last[*depth] = 0;
    *depth = (uint8_t)(*depth - (*depth > 0));
  }
}

// ---- converged lanes --------------------------------------------------------------------------------------------------------

// The length of the common prefix, of at most `count` events.
static inline uint32_t same_events(const uint32_t *a, const uint32_t *b, uint32_t count) {
  enum { MANY = 16 };
  uint32_t i = 0;
  if (a == b)
    return count;
  if (count > MANY && memcmp(a, b, count * sizeof *a) == 0)
    return count;
  for (uint64_t x, y; i + 2 <= count; i += 2) {
    memcpy(&x, a + i, sizeof x);
    memcpy(&y, b + i, sizeof y);
    if (x != y)
      break;
  }
  while (i < count && a[i] == b[i])
    i++;
  return i;
}

static uint32_t common_length(const struct block_state *bs, uint32_t active) {
  const struct lane *first = &bs->lanes[__builtin_ctz(active)];
  uint32_t length = first->event_count;
  for (uint32_t left = active & (active - 1); left; left &= left - 1) {
    const struct lane *lane = &bs->lanes[__builtin_ctz(left)];
    length = same_events(lane->events, first->events, lane->event_count < length ? lane->event_count : length);
  }
  return length;
}

static bool same_depth(const struct block_state *bs, uint32_t active) {
  unsigned first = (unsigned)__builtin_ctz(active);
  for (uint32_t left = active; left; left &= left - 1)
    if (bs->depth[bs->warp][__builtin_ctz(left)] != bs->depth[bs->warp][first])
      return false;
  return true;
}

// The call depth and last blocks of converged lanes are stored with the first of them: copies these to the others.
static void copy_position(struct block_state *bs, uint32_t lanes) {
  if (lanes == 0)
    return;
  const unsigned first = (unsigned)__builtin_ctz(lanes), depth = bs->depth[bs->warp][first];
  for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    bs->depth[bs->warp][lane] = (uint8_t)depth;
    if (depth < SHALLOW) // deeper levels are set when a call gets there
      memcpy(bs->last_block[bs->warp][lane], bs->last_block[bs->warp][first], SHALLOW * sizeof bs->last_block[0][0][0]);
    else
      memcpy(bs->last_block[bs->warp][lane], bs->last_block[bs->warp][first], sizeof bs->last_block[0][0]);
  }
}

static void run_converged(struct simt_stack *r, uint32_t active, uint32_t length) {
  struct block_state *bs = r->state;
  const unsigned first = (unsigned)__builtin_ctz(active);
  const uint32_t *events = bs->lanes[first].events;
  for (uint32_t i = 0; i < length; i++) {
    execute_converged(r, active, events[i], i);
    on_event(bs, first, events[i]);
  }
}

// ---- diverged lanes ----------------------------------------------------------------------------------------------------------

// The lane's next event other than a call or return; false: it has none.
static bool next_event(struct simt_stack *r, unsigned lane, uint32_t *event) {
  struct block_state *bs = r->state;
  const struct lane *events = &bs->lanes[lane];
  for (; r->position[lane] < events->event_count; r->position[lane]++) {
    *event = events->events[r->position[lane]];
    if (event_kind(*event) != EVENT_ENTER && event_kind(*event) != EVENT_LEAVE)
      return true;
    on_event(bs, lane, *event);
  }
  return false;
}

static void step_group(struct simt_stack *r, uint32_t lanes, uint32_t event) {
  execute(r, lanes, event);
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    on_event(r->state, lane, event);
    r->position[lane]++;
  }
}

// The lanes' next events, and which lanes have one before `stop` at `stop_depth`.
struct heads {
  uint32_t going;
  bool same;
  unsigned depth; // the minimum
  uint32_t event[WARP];
};

static void peek(struct simt_stack *r, uint32_t lanes, uint32_t stop, int stop_depth, struct heads *h) {
  const struct block_state *bs = r->state;
  h->going = 0;
  h->same = true;
  h->depth = MAX_DEPTH;
  unsigned first = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (!next_event(r, lane, &h->event[lane]))
      continue;
    int depth = bs->depth[bs->warp][lane];
    if (depth < stop_depth || (stop && h->event[lane] == stop && depth == stop_depth))
      continue;
    if (h->going == 0)
      first = lane;
    h->same &= h->event[lane] == h->event[first] && depth == bs->depth[bs->warp][first];
    h->depth = (unsigned)depth < h->depth ? (unsigned)depth : h->depth;
    h->going |= 1u << lane;
  }
}

// The basic block after which the lanes diverged; 0: they diverged earlier.
static uint32_t diverged_at(const struct simt_stack *r, const struct heads *h) {
  const struct block_state *bs = r->state;
  uint32_t block = 0;
  for (uint32_t left = h->going; left; left &= left - 1) {
    uint32_t own = bs->last_block[bs->warp][__builtin_ctz(left)][h->depth];
    if (own == 0 || (block && own != block))
      return 0;
    block = own;
  }
  return block;
}

static uint32_t group_of(const struct simt_stack *r, const struct heads *h, uint32_t lanes, unsigned like) {
  const struct block_state *bs = r->state;
  uint32_t group = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (h->event[lane] == h->event[like] && bs->depth[bs->warp][lane] == bs->depth[bs->warp][like])
      group |= 1u << lane;
  }
  return group;
}

static unsigned lowest(const struct heads *h) {
  unsigned best = (unsigned)__builtin_ctz(h->going);
  for (uint32_t left = h->going; left; left &= left - 1)
    if (h->event[__builtin_ctz(left)] < h->event[best])
      best = (unsigned)__builtin_ctz(left);
  return best;
}

static void run_group(struct simt_stack *r, uint32_t lanes, uint32_t stop, int stop_depth, int level) {
  struct heads h;
  for (;;) {
    peek(r, lanes, stop, stop_depth, &h);
    if (h.going == 0)
      return;
    lanes = h.going;
    unsigned first = (unsigned)__builtin_ctz(lanes);
    if (h.same) {
      step_group(r, lanes, h.event[first]);
      continue;
    }
    uint32_t from = diverged_at(r, &h);
    if (from == 0 || level == DEEPEST) { // the lowest program counter catches up
      unsigned lagging = lowest(&h);
      step_group(r, group_of(r, &h, lanes, lagging), h.event[lagging]);
      continue;
    }
    uint32_t reconvergence = flow_post_dominator(r->kernel->flow, from);
    for (uint32_t left = lanes; left;) {
      unsigned lane = (unsigned)__builtin_ctz(left);
      uint32_t group = group_of(r, &h, left, lane);
      bool arrived =
          reconvergence && h.event[lane] == reconvergence && r->state->depth[r->state->warp][lane] == h.depth;
      left &= ~group;
      if (!arrived)
        run_group(r, group, reconvergence, (int)h.depth, level + 1);
    }
  }
}

// Does the lane's trace equal the other's, from the same position on?
static bool same_way(const struct block_state *bs, unsigned lane, unsigned other) {
  const struct lane *a = &bs->lanes[lane], *b = &bs->lanes[other];
  return a->event_count == b->event_count && bs->depth[bs->warp][lane] == bs->depth[bs->warp][other] &&
         (a->events == b->events || memcmp(a->events, b->events, a->event_count * sizeof *a->events) == 0) &&
         memcmp(bs->last_block[bs->warp][lane], bs->last_block[bs->warp][other], sizeof bs->last_block[0][0]) == 0;
}

static void learn(const struct block_state *bs, struct flow *flow, uint32_t active) {
  int before = -1;
  for (uint32_t left = active; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (before < 0 || !same_way(bs, lane, (unsigned)before))
      flow_learn(flow, &bs->lanes[lane], bs->depth[bs->warp][lane], bs->last_block[bs->warp][lane]);
    before = (int)lane;
  }
}

// Executes lanes that were not converged before, or diverge here.
static void run_diverged(struct simt_stack *r, uint32_t active) {
  struct block_state *bs = r->state;
  copy_position(bs, bs->converged[bs->warp]);
  bs->converged[bs->warp] = 0;
  const uint32_t length = same_depth(bs, active) ? common_length(bs, active) : 0;
  bool all = true;
  for (uint32_t left = active; left; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    all &= bs->lanes[lane].event_count == length;
    r->position[lane] = length;
  }
  if (!all)
    learn(bs, r->kernel->flow, active);
  run_converged(r, active, length);
  if (all)
    bs->converged[bs->warp] = active;
  else if (length) // lanes that diverge at once have positions of their own
    copy_position(bs, active);
  if (!all)
    run_group(r, active, 0, -1, 0);
}

bool simt_run_converged(struct block_state *bs, uint32_t count) {
  if (bs->converged[bs->warp] != ~0u)
    return false;
  struct simt_stack r; // large
  r.state = bs;
  r.kernel = bs->launch->kernel;
  r.live = WARP;
  r.vectors_open = 0;
  run_converged(&r, ~0u, count);
  close_vectors(&r);
  return true;
}

void simt_run(struct block_state *bs, uint32_t active) {
  struct simt_stack r; // large
  r.state = bs;
  r.kernel = bs->launch->kernel;
  r.live = (unsigned)__builtin_popcount(bs->live[bs->warp] | active);
  r.vectors_open = 0;
  run_diverged(&r, active);
  close_vectors(&r);
}
