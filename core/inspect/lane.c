// What each lane of a warp does, kept until the warp is complete: the simulator runs a warp's lanes one after another.
#include <stdio.h>
#include <string.h>

#include "inspect/access.h"
#include "inspect/word.h"
#include "sim/inspector.h"

// A thread that does more than this without a barrier is cut off, so that one warp's events need at most 1.5 GB.
enum { MOST = 4 << 20, FIRST_ROOM = 1024 };

static bool grow(struct look *l) {
  struct lane *lane = l->lane;
  if (lane->room >= MOST) {
    l->launch->kernel->cut = true;
    return false;
  }
  lane->room = lane->room ? 2 * lane->room : FIRST_ROOM;
  lane->keys = inspect_resize(lane->keys, lane->room * sizeof *lane->keys);
  lane->addresses = inspect_resize(lane->addresses, lane->room * sizeof *lane->addresses);
  return true;
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
              "%s: thread %d of block %u", what, l->thread, l->run - l->launch->first_run);
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
  l->launch->kernel->arrays[array] = 1;
  for (size_t at = (a->offset + MEMORY_WORD - 1) / MEMORY_WORD; (at + 1) * MEMORY_WORD <= a->offset + a->bytes; at++)
    l->known_shared[at] = 1;
  return true;
}

static void beyond_dynamic(struct look *l, size_t offset, unsigned bytes, uint32_t key) {
  finding_add(FIND_BOUNDS_DYNAMIC, l->launch->kernel, (struct place){.first = key_place(key)},
              "%u byte%s at byte %zu of %zu: thread %d of block %u", bytes, bytes == 1 ? "" : "s", offset,
              l->dynamic_bytes, l->thread, l->run - l->launch->first_run);
}

// A thread's own variables stand a little above this function's on its stack.
enum { OWN_STACK = 256 << 10 };

static bool is_a_threads(const struct look *l, uint64_t address) {
  const uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0), own = (uint64_t)(uintptr_t)&inspect_now;
  return address - frame < OWN_STACK || address - l->launch->closure < l->launch->closure_bytes ||
         address - (own - OWN_STACK) < 2 * OWN_STACK || // blockIdx and its like stand beside that
         sim_is_block_state((const void *)(uintptr_t)address);
}

static void of_the_host(struct look *l, uint32_t key) {
  finding_add(FIND_ILLEGAL, l->launch->kernel, (struct place){.first = key_place(key)},
              "memory of the host: thread %d of block %u", l->thread, l->run - l->launch->first_run);
}

// Two threads' equal writes are compared when the second goes on; what the compiler's check of bounds has told of is not told again.
static bool end_pending(struct look *l) {
  bool skip = l->skip_next;
  l->skip_next = l->pending = false;
  if (l->equal.finding)
    race_resolve_equal(l);
  return skip;
}

void lane_event(struct look *l, uint32_t key) {
  struct lane *lane = l->lane;
  l->last_key = key;
  if (lane->key_count < lane->room || grow(l))
    lane->keys[lane->key_count++] = key;
  else
    inspect_calls++;
}

static __attribute__((noinline)) void lane_access_slow(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory;
  struct lane *lane = l->lane;
  size_t offset;
  bool skip = end_pending(l);
  l->last_key = key;
  enum space space = memory_space(l, address, &memory, &offset);
  if (space == SPACE_NONE) {
    inspect_calls++;
    if (inspect_scored && !is_a_threads(l, address))
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
  }
  if (lane->key_count < lane->room || grow(l)) {
    lane->keys[lane->key_count++] = key;
    lane->addresses[lane->address_count++] = address;
  } else {
    inspect_calls++;
  }
}

// A variable of the kernel's own on its stack, or what the simulator keeps of the block: no memory that is looked at.
static inline bool is_near(uint64_t address) {
  enum { NEAR = 8192 };
  return address - (uint64_t)(uintptr_t)__builtin_frame_address(0) < NEAR ||
         sim_is_block_state((const void *)(uintptr_t)address);
}

// True: there is nothing to say of the access, and it has been kept.
static bool is_common(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory = memory_global;
  struct lane *lane = l->lane;
  enum space space = SPACE_GLOBAL;
  unsigned count;
  size_t offset = address - memory_arena;
  if (l->pending || is_atomic(key) || lane->key_count >= lane->room)
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
    if (!is_near(address))
      return false;
    l->last_key = key;
    inspect_calls++;
    return true;
  }
  struct cell *cells = memory_cells(memory, offset, bytes, &count);
  if (!are_known(l, cells, count, key, space))
    return false;
  l->last_key = key;
  lane->keys[lane->key_count++] = key;
  lane->addresses[lane->address_count++] = address;
  return true;
}

void lane_access(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  if (!is_common(l, address, bytes, key))
    lane_access_slow(l, address, bytes, key);
}

// The events of one warp are complete, or as far as they go before its next wait.
void lane_flush(struct look *l) {
  uint32_t active = 0, events = 0;
  if (l->warp < 0)
    return;
  for (unsigned i = 0; i < WARP; i++) {
    active |= (uint32_t)(l->lanes[i].key_count != 0) << i;
    events += l->lanes[i].key_count;
  }
  inspect_calls += events;
  if (active)
    replay(l, active);
  for (unsigned i = 0; i < WARP; i++)
    l->lanes[i].key_count = l->lanes[i].address_count = 0;
}
