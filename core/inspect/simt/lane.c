// What each lane of a warp does, kept until the warp is complete: the simulator runs a warp's lanes one after another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/access.h"
#include "inspect/simt/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/past.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"
#include "inspect/simt/replay.h"
#include "inspect/shadow/word.h"
#include "sim/base/plugin.h"

// A thread that does more than this without a barrier is cut off, so that one warp's events need at most 1.5 GB.
enum { MOST = 4 << 20, FIRST_ROOM = 1024, SMALL_ROOM = 64 };

static void set_room(struct lane *lane, uint32_t room, uint32_t *own, uint64_t *addresses) {
  lane->room = room;
  lane->own = own;
  lane->addresses = addresses;
}

// From here on these are the lane's keys, of which there are `count`.
static void set_keys(struct lane *lane, uint32_t *keys, ptrdiff_t count) {
  lane->keys = keys;
  lane->tail = (struct tail){keys + count, keys + lane->room, (uintptr_t)lane->addresses - 2 * (uintptr_t)keys};
}

// The path has room for what the lane has room for.
static void lengthen_path(struct look *l, uint32_t room) {
  uint32_t *const old = l->path;
  if (room <= l->path_room)
    return;
  l->path = inspect_resize(NULL, room * sizeof *l->path);
  memset(l->path, 0, room * sizeof *l->path);
  if (old)
    memcpy(l->path, old, l->path_room * sizeof *l->path);
  l->path_room = room;
  for (unsigned i = 0; i < WARP && old; i++)
    if (l->lanes[i].keys == old)
      set_keys(&l->lanes[i], l->path, l->lanes[i].tail.key - old);
  free(old);
}

static void make_small(struct look *l) {
  uint64_t *words = inspect_allocate((size_t)WARP * SMALL_ROOM * (sizeof(uint64_t) + sizeof(uint32_t)));
  for (size_t i = 0; i < WARP; i++, words += SMALL_ROOM * 3 / 2)
    l->rooms[i] = (struct lane_room){.small = (uint32_t *)words, .small_addresses = words + SMALL_ROOM / 2};
}

static void make_large(struct lane_room *r, uint32_t room) {
  r->room = room;
  r->large = inspect_resize(r->large, room * sizeof *r->large);
  r->large_addresses = inspect_resize(r->large_addresses, room * sizeof *r->large_addresses);
}

void lanes_begin(struct look *l, const struct kernel *kernel) {
  const bool large = kernel->lanes_are_large, first = l->rooms[0].small == NULL;
  if (!first && large == l->lanes_are_large)
    return;
  if (first)
    make_small(l);
  for (unsigned i = 0; i < WARP; i++) {
    struct lane_room *r = &l->rooms[i];
    if (large && r->room == 0)
      make_large(r, FIRST_ROOM);
    if (large)
      set_room(&l->lanes[i], r->room, r->large, r->large_addresses);
    else
      set_room(&l->lanes[i], SMALL_ROOM, r->small, r->small_addresses);
    lengthen_path(l, l->lanes[i].room);
  }
  for (unsigned i = 0; i < WARP; i++)
    set_keys(&l->lanes[i], l->path, 0);
  l->lanes_are_large = large;
}

static bool grow(struct look *l) {
  struct lane *lane = l->lane;
  struct lane_room *r = &l->rooms[lane - l->lanes];
  const ptrdiff_t count = inspect_tail.key - lane->keys;
  const bool departed = lane->keys == lane->own;
  if (lane->room >= MOST) {
    l->launch->kernel->cut = true;
    return false;
  }
  if (lane->own == r->small) {
    if (r->room == 0)
      make_large(r, FIRST_ROOM);
    memcpy(r->large, r->small, SMALL_ROOM * sizeof *r->small);
    memcpy(r->large_addresses, r->small_addresses, SMALL_ROOM * sizeof *r->small_addresses);
    l->launch->kernel->lanes_are_large = true;
    l->lanes_are_large = false; // some are, and the next block's
  } else {
    make_large(r, 2 * r->room);
  }
  set_room(lane, r->room, r->large, r->large_addresses);
  lengthen_path(l, r->room);
  set_keys(lane, departed ? lane->own : l->path, count);
  lane_enter(l, lane);
  return true;
}

static inline bool has_room(struct look *l) {
  return (size_t)(inspect_tail.key - l->lane->keys) < l->lane->room || grow(l);
}

// What is no event of a lane.
static void pass_by(struct look *l, uint32_t key) {
  l->last_key = key;
  l->last_at = inspect_tail.key;
  l->last_lane = l->lane;
  inspect_calls++;
}

uint32_t lane_last_key(const struct look *l) {
  const bool passed_by = inspect_tail.key == l->last_at && l->lane == l->last_lane;
  return passed_by || inspect_tail.key == l->lane->keys ? l->last_key : inspect_tail.key[-1];
}

// Behind each array is room that is nobody's (./ferry inspect puts it there).
static void beyond_array(struct look *l, size_t offset, uint32_t key) {
  const struct array *before = NULL;
  char what[200] = "beyond the shared arrays";
  for (int i = 0; i < program_arrays() && program_array(i)->offset <= offset; i++)
    before = program_array(i);
  if (before)
    snprintf(what, sizeof what, "byte %zu of %s, which has %zu", offset - before->offset, before->name, before->bytes);
  finding_add(FIND_BOUNDS_ARRAY, l->launch->kernel, (struct place){.first = key_place(key)},
              "%s: thread %d of block %u", what, l->thread, block_of(l->launch, l->run));
}

static bool is_guard(size_t offset) {
  const int array = program_array_at(offset);
  return array >= 0 && program_array(array)->is_guard;
}

// False: it is no array's, which has been said. The words of the array that lie within it whole are known from here on, and not
// asked for again.
static bool touch_array(struct look *l, size_t offset, uint32_t key) {
  int array = program_array_at(offset);
  if (array < 0) {
    beyond_array(l, offset, key);
    return false;
  }
  const struct array *a = program_array(array);
  l->launch->kernel->arrays[array] |= l->loops ? IN_LOOPS : IN_THREADS;
  for (size_t at = (a->offset + MEMORY_WORD - 1) / MEMORY_WORD; (at + 1) * MEMORY_WORD <= a->offset + a->bytes; at++)
    l->known_shared[at] = 1;
  return true;
}

static void beyond_dynamic(struct look *l, size_t offset, unsigned bytes, uint32_t key) {
  finding_add(FIND_BOUNDS_DYNAMIC, l->launch->kernel, (struct place){.first = key_place(key)},
              "%u byte%s at byte %zu of %zu: thread %d of block %u", bytes, bytes == 1 ? "" : "s", offset,
              l->dynamic_bytes, l->thread, block_of(l->launch, l->run));
}

// A thread's own variables stand a little above this function's on its stack.
enum { OWN_STACK = 256 << 10 };

static bool is_a_threads(const struct look *l, uint64_t address) {
  const uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0), own = (uint64_t)(uintptr_t)&inspect_now;
  return address - frame < OWN_STACK || address - l->launch->closure < l->launch->closure_bytes ||
         address - (own - OWN_STACK) < 2 * OWN_STACK || // blockIdx and its like stand beside that
         address - l->block_state < l->block_state_bytes;
}

static void of_the_host(struct look *l, uint32_t key) {
  finding_add(FIND_ILLEGAL, l->launch->kernel, (struct place){.first = key_place(key)},
              "memory of the host: thread %d of block %u", l->thread, block_of(l->launch, l->run));
}

// Two threads' equal writes are compared when the second goes on; what the compiler's check of bounds has told of is not told again.
static bool end_pending(struct look *l) {
  bool skip = l->skip_next;
  l->skip_next = l->pending = false;
  inspect_tail.limit = l->lane->tail.limit;
  if (l->equal.finding)
    race_resolve_equal(l);
  return skip;
}

// ---- the warp's path ----------------------------------------------------------------------------------------------------------

// Most of the time all lanes of a warp do the same, and what a warp before it did: they share their keys, and each only compares.

static __attribute__((noinline)) const uint32_t *furthest(const struct look *l) {
  const uint32_t *most = l->path;
  for (unsigned i = 0; i < WARP; i++)
    if (l->lanes[i].keys == l->path && l->lanes[i].tail.key > most)
      most = l->lanes[i].tail.key;
  return most;
}

static void depart(struct look *l) {
  struct lane *lane = l->lane;
  const ptrdiff_t count = inspect_tail.key - lane->keys;
  memcpy(lane->own, lane->keys, (size_t)count * sizeof *lane->own);
  set_keys(lane, lane->own, count);
  l->departed |= 1u << (lane - l->lanes);
  lane_enter(l, lane);
}

static void put(struct look *l, uint32_t key) {
  if (*inspect_tail.key != key && l->lane->keys == l->path) {
    if (l->furthest == NULL)
      l->furthest = furthest(l);
    if (l->furthest > inspect_tail.key)
      depart(l);
  }
  *inspect_tail.key++ = key;
}

__attribute__((noinline)) void lane_leave_path(uint32_t key) {
  put(inspect_now, key);
}

void lane_event(struct look *l, uint32_t key) {
  if (has_room(l))
    put(l, key);
  else
    pass_by(l, key);
}

static __attribute__((noinline)) void lane_access_slow(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory;
  size_t offset;
  if (l->rests)
    return;
  bool skip = end_pending(l);
  enum space space = memory_space(l, address, &memory, &offset);
  if (space == SPACE_SHARED && !l->known_shared[offset / MEMORY_WORD] && is_guard(offset)) {
    pass_by(l, key);
    return;
  }
  if (space == SPACE_NONE) {
    pass_by(l, key);
    if (program_is_constant(address, &offset))
      past_reads_constant(l->launch, address, offset, key);
    else if (inspect_scored && !is_a_threads(l, address))
      of_the_host(l, key);
    return;
  }
  if (space == SPACE_GLOBAL)
    memory_check(l, address, bytes, key);
  else if (space == SPACE_SHARED && !skip && !l->known_shared[offset / MEMORY_WORD])
    skip = !touch_array(l, offset, key);
  else if (space == SPACE_DYNAMIC && offset + bytes > l->dynamic_bytes) {
    beyond_dynamic(l, offset, bytes, key);
    skip = true;
  }
  if (!skip) {
    unsigned count;
    struct cell *cells = memory_cells(memory, offset, bytes, &count);
    race_check(l, cells, count, key, address, space);
    if (space == SPACE_GLOBAL && is_read(key) && !access_all_written(address, bytes))
      for (unsigned i = 0; i < count; i++)
        race_ask_again(&cells[i]);
  }
  if (has_room(l)) {
    lane_keep(address, key);
  } else {
    pass_by(l, key);
  }
}

static __attribute__((noinline)) void word_slowly(struct look *l, uint64_t address, struct cell *cell, uint32_t key,
                                                  enum space space) {
  const struct mark now = {l->era, key, l->who};
  if (cell->more != MORE_IS_BYTES && is_known(l, cell, &now, space))
    lane_keep(address, key);
  else
    lane_access_slow(l, address, MEMORY_WORD, key);
}

// `reads` and `space` are constants. The key's kind is, too: of a read or a write of a word. Ends in a call or in none, as access.h's do.
ACCESS_INLINE void word(struct look *l, uint64_t address, struct cell *cell, uint32_t key, bool reads, enum space space,
                        struct record *record) {
  key = (key & ~(uint32_t)KIND_MASK) | ((reads ? EVENT_READ : EVENT_WRITE) + 2);
  if (access_is_plain(l, cell, key, space) ||
      (cell->more && cell->more != MORE_IS_BYTES &&
       access_is_ordered(l, cell, space == SPACE_GLOBAL ? record_at(cell->more) : record, key, space)))
    lane_keep(address, key);
  else
    word_slowly(l, address, cell, key, space);
}

void lane_read_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key) {
  word(l, address, cell, key, true, SPACE_GLOBAL, NULL);
}

void lane_write_global(struct look *l, uint64_t address, struct cell *cell, uint32_t key) {
  word(l, address, cell, key, false, SPACE_GLOBAL, NULL);
}

void lane_read_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record) {
  word(l, address, cell, key, true, SPACE_SHARED, record);
}

void lane_write_shared(struct look *l, uint64_t address, struct cell *cell, uint32_t key, struct record *record) {
  word(l, address, cell, key, false, SPACE_SHARED, record);
}

// A variable of the kernel's own on its stack, or what the simulator keeps of the block: no memory that is looked at.
static inline bool is_near(const struct look *l, uint64_t address) {
  enum { NEAR = 8192 };
  return address - (uint64_t)(uintptr_t)__builtin_frame_address(0) < NEAR ||
         address - l->block_state < l->block_state_bytes;
}

// True: there is nothing to say of the access, and it has been kept.
static bool is_common(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory = memory_global;
  enum space space = SPACE_GLOBAL;
  unsigned count;
  size_t offset = address - memory_arena;
  if (is_atomic(key) || inspect_tail.key >= inspect_tail.limit)
    return false;
  if (offset < memory_arena_bytes) {
    if (!access_all_written(address, bytes))
      return false;
  } else if ((offset = address - (uintptr_t)l->shared) < l->shared_bytes) {
    memory = l->shared_memory;
    space = SPACE_SHARED;
    if (!l->known_shared[offset / MEMORY_WORD])
      return false;
  } else if ((offset = address - (uintptr_t)l->dynamic) < SIM_MAX_SHARED) {
    memory = l->dynamic_memory;
    space = SPACE_DYNAMIC;
    if (offset + bytes > l->dynamic_bytes)
      return false;
  } else {
    if (!is_near(l, address))
      return false;
    pass_by(l, key);
    return true;
  }
  struct cell *cells = memory_cells(memory, offset, bytes, &count);
  if (!are_known(l, cells, count, key, space))
    return false;
  lane_keep(address, key);
  return true;
}

__attribute__((noinline)) void lane_access(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  if (!is_common(l, address, bytes, key))
    lane_access_slow(l, address, bytes, key);
}

void lane_elsewhere(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  if (!l->pending && is_near(l, address))
    pass_by(l, key);
  else
    lane_access(l, address, bytes, key);
}

static inline size_t kept(const struct lane *lane) {
  return (size_t)((const char *)lane->tail.key - (const char *)lane->keys);
}

static void replay_active(struct look *l) {
  uint32_t active = 0;
  for (unsigned i = 0; i < WARP; i++) {
    struct lane *lane = &l->lanes[i];
    lane->key_count = (uint32_t)(kept(lane) / sizeof *lane->keys);
    active |= (uint32_t)(lane->key_count != 0) << i;
    inspect_calls += lane->key_count;
  }
  if (active)
    replay(l, active);
}

static void replay_lanes(struct look *l) {
  const size_t first = kept(&l->lanes[0]);
  size_t differs = 0;
  for (unsigned i = 1; i < WARP; i++)
    differs |= kept(&l->lanes[i]) ^ first;
  const uint32_t count = (uint32_t)(first / sizeof(uint32_t));
  if (differs == 0 && count && l->departed == 0 && replay_whole(l, count))
    inspect_calls += (uint64_t)WARP * count;
  else
    replay_active(l);
}

// The events of one warp are complete, or as far as they go before its next wait.
void lane_flush(struct look *l) {
  if (l->warp < 0 ||
      (l->furthest == l->path && inspect_tail.key == l->path)) // nothing has happened since the last time
    return;
  l->last_key = lane_last_key(l);
  l->last_at = NULL;
  lane_leave(l);
  if (inspect_counts)
    replay_lanes(l);
  for (; l->departed; l->departed &= l->departed - 1)
    set_keys(&l->lanes[__builtin_ctz(l->departed)], l->path, 0);
  for (unsigned i = 0; i < WARP; i++)
    l->lanes[i].tail.key = l->path;
  lane_enter(l, l->lane);
  l->furthest = l->path;
}
