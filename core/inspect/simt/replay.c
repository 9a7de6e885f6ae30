// From what each lane did to what the warp did: lanes that are at the same place do it together, as one warp instruction. As long
// as all lanes took the same way there is nothing to decide; where they part, each group runs to where the ways meet again.
#include <string.h>

#include "inspect/shadow/memory.h"
#include "inspect/simt/replay.h"

struct replay {
  struct look *look;
  struct kernel *kernel;
  uint32_t key_at[WARP];
  unsigned live; // lanes that have not returned
};

enum { DEEPEST = 200, SHALLOW = 4 }; // groups within groups; calls within calls, most of the time

static bool is_shared(const struct look *l, uint64_t address) {
  return address - (uintptr_t)l->shared < l->shared_bytes || address - (uintptr_t)l->dynamic < l->dynamic_bytes;
}

static void count_in(struct replay *r, uint32_t key, bool shared, const uint64_t *addresses, unsigned lanes) {
  struct site *site = kernel_site(r->kernel, key, shared);
  site->runs++;
  site->lanes += lanes;
  site->live += r->live;
  request_count(site, addresses, lanes, access_bytes(key));
}

// A pointer may lead some lanes to shared memory and others to global memory: that is one request to each.
static __attribute__((noinline)) void count_parted(struct replay *r, uint32_t key, const uint64_t *addresses,
                                                   unsigned count) {
  uint64_t parted[2][WARP];
  unsigned parts[2] = {0, 0};
  for (unsigned i = 0; i < count; i++) {
    bool there = is_shared(r->look, addresses[i]);
    parted[there][parts[there]++] = addresses[i];
  }
  for (int space = 0; space < 2; space++)
    if (parts[space])
      count_in(r, key, space, parted[space], parts[space]);
}

static inline void count_row(struct replay *r, uint32_t key, const uint64_t *addresses, unsigned count) {
  const struct look *l = r->look;
  const uint64_t arena = memory_arena, static_shared = (uintptr_t)l->shared;
  uint64_t global = 0, shared = 0; // no offset is above the bits of all
  for (unsigned i = 0; i < count; i++) {
    global |= addresses[i] - arena;
    shared |= addresses[i] - static_shared;
  }
  if (global < memory_arena_bytes || shared < l->shared_bytes)
    count_in(r, key, shared < l->shared_bytes, addresses, count);
  else
    count_parted(r, key, addresses, count);
}

static void count_block(struct replay *r, uint32_t lanes, uint32_t key) {
  struct site *site = kernel_site(r->kernel, key, false);
  site->runs++;
  site->lanes += (unsigned)__builtin_popcount(lanes);
  site->live += r->live;
}

// One warp instruction, of lanes that are at `key_at`. Their positions behind it are the caller's.
static void execute(struct replay *r, uint32_t lanes, uint32_t key) {
  uint64_t addresses[WARP];
  unsigned count = 0;
  if (key_kind(key) >= EVENT_READ) {
    for (uint32_t left = lanes; left; left &= left - 1) {
      const unsigned lane = (unsigned)__builtin_ctz(left);
      addresses[count++] = r->look->lanes[lane].addresses[r->key_at[lane]];
    }
    count_row(r, key, addresses, count);
  } else if (key_kind(key) == EVENT_BLOCK) {
    count_block(r, lanes, key);
  }
}

// Of all lanes, if they ask for memory as they did here the last time.
static bool count_again(struct replay *r, uint32_t key, uint32_t at) {
  const struct look *l = r->look;
  const uint64_t first = l->lanes[0].addresses[at];
  uint64_t begin = memory_arena, bytes = memory_arena_bytes;
  const bool shared = first - begin >= bytes;
  if (shared) {
    const bool is_static = first - (uintptr_t)l->shared < l->shared_bytes;
    begin = (uintptr_t)(is_static ? l->shared : l->dynamic);
    bytes = is_static ? l->shared_bytes : l->dynamic_bytes;
    if (first - begin >= bytes)
      return false;
  }
  struct site *site = kernel_site(r->kernel, key, shared);
  if (!request_repeats(site, l->lanes, at, begin, bytes))
    return false;
  site->runs++;
  site->lanes += WARP;
  site->live += r->live;
  return true;
}

// The same of lanes whose keys are the same up to here.
static void execute_together(struct replay *r, uint32_t lanes, uint32_t key, uint32_t at) {
  uint64_t addresses[WARP];
  unsigned count = 0;
  if (key_kind(key) == EVENT_BLOCK)
    count_block(r, lanes, key);
  if (key_kind(key) < EVENT_READ)
    return;
  if (lanes == ~0u) { // as most are
    if (count_again(r, key, at))
      return;
    for (unsigned lane = 0; lane < WARP; lane++)
      addresses[lane] = r->look->lanes[lane].addresses[at];
    count_row(r, key, addresses, WARP);
    return;
  }
  for (uint32_t left = lanes; left; left &= left - 1)
    addresses[count++] = r->look->lanes[__builtin_ctz(left)].addresses[at];
  count_row(r, key, addresses, count);
}

static void pass(struct look *l, unsigned lane, uint32_t key) {
  uint8_t *depth = &l->depth[l->warp][lane];
  uint32_t *last = l->last_block[l->warp][lane];
  if (is_block(key)) {
    last[*depth] = key;
  } else if (key_kind(key) == EVENT_ENTER) {
    *depth = (uint8_t)(*depth + (*depth + 1 < MAX_DEPTH));
    last[*depth] = 0;
  } else if (key_kind(key) == EVENT_LEAVE) {
    last[*depth] = 0;
    *depth = (uint8_t)(*depth - (*depth > 0));
  }
}

// ---- where all lanes do the same ------------------------------------------------------------------------------------------------

// How many of the first `count` keys are the same.
static inline uint32_t same_keys(const uint32_t *a, const uint32_t *b, uint32_t count) {
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

static uint32_t common_length(const struct look *l, uint32_t active) {
  const struct lane *first = &l->lanes[__builtin_ctz(active)];
  uint32_t length = first->key_count;
  for (uint32_t left = active & (active - 1); left; left &= left - 1) {
    const struct lane *lane = &l->lanes[__builtin_ctz(left)];
    length = same_keys(lane->keys, first->keys, lane->key_count < length ? lane->key_count : length);
  }
  return length;
}

static bool same_depth(const struct look *l, uint32_t active) {
  unsigned first = (unsigned)__builtin_ctz(active);
  for (uint32_t left = active; left; left &= left - 1)
    if (l->depth[l->warp][__builtin_ctz(left)] != l->depth[l->warp][first])
      return false;
  return true;
}

// The places of lanes that went together are kept once, with the first of them: the others take them over.
static void spread(struct look *l, uint32_t lanes) {
  if (lanes == 0)
    return;
  const unsigned first = (unsigned)__builtin_ctz(lanes), depth = l->depth[l->warp][first];
  for (uint32_t left = lanes & (lanes - 1); left; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    l->depth[l->warp][lane] = (uint8_t)depth;
    if (depth < SHALLOW) // what is deeper is set when a call gets there
      memcpy(l->last_block[l->warp][lane], l->last_block[l->warp][first], SHALLOW * sizeof l->last_block[0][0][0]);
    else
      memcpy(l->last_block[l->warp][lane], l->last_block[l->warp][first], sizeof l->last_block[0][0]);
  }
}

static void run_together(struct replay *r, uint32_t active, uint32_t length) {
  struct look *l = r->look;
  const unsigned first = (unsigned)__builtin_ctz(active);
  const uint32_t *keys = l->lanes[first].keys;
  for (uint32_t i = 0; i < length; i++) {
    execute_together(r, active, keys[i], i);
    pass(l, first, keys[i]);
  }
}

// ---- where they part ---------------------------------------------------------------------------------------------------------

// The lane's next event that is more than a call or a return; false when it has none.
static bool next_event(struct replay *r, unsigned lane, uint32_t *key) {
  struct look *l = r->look;
  const struct lane *events = &l->lanes[lane];
  for (; r->key_at[lane] < events->key_count; r->key_at[lane]++) {
    *key = events->keys[r->key_at[lane]];
    if (key_kind(*key) != EVENT_ENTER && key_kind(*key) != EVENT_LEAVE)
      return true;
    pass(l, lane, *key);
  }
  return false;
}

static void step(struct replay *r, uint32_t lanes, uint32_t key) {
  execute(r, lanes, key);
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    pass(r->look, lane, key);
    r->key_at[lane]++;
  }
}

// The lanes' next events: which lanes have one and have not come to `stop` at `stop_depth` yet.
struct heads {
  uint32_t going;
  bool same;
  unsigned depth; // the least
  uint32_t key[WARP];
};

static void look_ahead(struct replay *r, uint32_t lanes, uint32_t stop, int stop_depth, struct heads *h) {
  const struct look *l = r->look;
  h->going = 0;
  h->same = true;
  h->depth = MAX_DEPTH;
  unsigned first = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (!next_event(r, lane, &h->key[lane]))
      continue;
    int depth = l->depth[l->warp][lane];
    if (depth < stop_depth || (stop && h->key[lane] == stop && depth == stop_depth))
      continue;
    if (h->going == 0)
      first = lane;
    h->same &= h->key[lane] == h->key[first] && depth == l->depth[l->warp][first];
    h->depth = (unsigned)depth < h->depth ? (unsigned)depth : h->depth;
    h->going |= 1u << lane;
  }
}

// The basic block that all of them came from; 0 when they did not part now, but earlier.
static uint32_t parted_at(const struct replay *r, const struct heads *h) {
  const struct look *l = r->look;
  uint32_t block = 0;
  for (uint32_t left = h->going; left; left &= left - 1) {
    uint32_t own = l->last_block[l->warp][__builtin_ctz(left)][h->depth];
    if (own == 0 || (block && own != block))
      return 0;
    block = own;
  }
  return block;
}

static uint32_t group_of(const struct replay *r, const struct heads *h, uint32_t lanes, unsigned like) {
  const struct look *l = r->look;
  uint32_t group = 0;
  for (uint32_t left = lanes; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (h->key[lane] == h->key[like] && l->depth[l->warp][lane] == l->depth[l->warp][like])
      group |= 1u << lane;
  }
  return group;
}

static unsigned lowest(const struct heads *h) {
  unsigned best = (unsigned)__builtin_ctz(h->going);
  for (uint32_t left = h->going; left; left &= left - 1)
    if (h->key[__builtin_ctz(left)] < h->key[best])
      best = (unsigned)__builtin_ctz(left);
  return best;
}

static void run(struct replay *r, uint32_t lanes, uint32_t stop, int stop_depth, int level) {
  struct heads h;
  for (;;) {
    look_ahead(r, lanes, stop, stop_depth, &h);
    if (h.going == 0)
      return;
    lanes = h.going;
    unsigned first = (unsigned)__builtin_ctz(lanes);
    if (h.same) {
      step(r, lanes, h.key[first]);
      continue;
    }
    uint32_t from = parted_at(r, &h);
    if (from == 0 || level == DEEPEST) { // the one that is behind catches up
      unsigned behind = lowest(&h);
      step(r, group_of(r, &h, lanes, behind), h.key[behind]);
      continue;
    }
    uint32_t meets = flow_meets(r->kernel->flow, from);
    for (uint32_t left = lanes; left;) {
      unsigned lane = (unsigned)__builtin_ctz(left);
      uint32_t group = group_of(r, &h, left, lane);
      bool there = meets && h.key[lane] == meets && r->look->depth[r->look->warp][lane] == h.depth;
      left &= ~group;
      if (!there)
        run(r, group, meets, (int)h.depth, level + 1);
    }
  }
}

// Has the lane nothing that the other has not had, from the same place on?
static bool same_way(const struct look *l, unsigned lane, unsigned other) {
  const struct lane *a = &l->lanes[lane], *b = &l->lanes[other];
  return a->key_count == b->key_count && l->depth[l->warp][lane] == l->depth[l->warp][other] &&
         (a->keys == b->keys || memcmp(a->keys, b->keys, a->key_count * sizeof *a->keys) == 0) &&
         memcmp(l->last_block[l->warp][lane], l->last_block[l->warp][other], sizeof l->last_block[0][0]) == 0;
}

static void learn(const struct look *l, struct flow *flow, uint32_t active) {
  int before = -1;
  for (uint32_t left = active; left; left &= left - 1) {
    unsigned lane = (unsigned)__builtin_ctz(left);
    if (before < 0 || !same_way(l, lane, (unsigned)before))
      flow_learn(flow, &l->lanes[lane], l->depth[l->warp][lane], l->last_block[l->warp][lane]);
    before = (int)lane;
  }
}

// The way of lanes that have not gone together up to here, or do not from here on.
static void run_apart(struct replay *r, uint32_t active) {
  struct look *l = r->look;
  spread(l, l->together[l->warp]);
  l->together[l->warp] = 0;
  const uint32_t length = same_depth(l, active) ? common_length(l, active) : 0;
  bool all = true;
  for (uint32_t left = active; left; left &= left - 1) {
    const unsigned lane = (unsigned)__builtin_ctz(left);
    all &= l->lanes[lane].key_count == length;
    r->key_at[lane] = length;
  }
  if (!all)
    learn(l, r->kernel->flow, active);
  run_together(r, active, length);
  if (all)
    l->together[l->warp] = active;
  else if (length) // where they have gone no way together each keeps its own place
    spread(l, active);
  if (!all)
    run(r, active, 0, -1, 0);
}

bool replay_whole(struct look *l, uint32_t count) {
  if (l->together[l->warp] != ~0u)
    return false;
  struct replay r; // large
  r.look = l;
  r.kernel = l->launch->kernel;
  r.live = WARP;
  run_together(&r, ~0u, count);
  return true;
}

void replay(struct look *l, uint32_t active) {
  struct replay r; // large
  r.look = l;
  r.kernel = l->launch->kernel;
  r.live = (unsigned)__builtin_popcount(l->live[l->warp] | active);
  run_apart(&r, active);
}
