// What each lane of a warp does, kept until the warp is complete: the simulator runs a warp's lanes one after another.
#include <string.h>

#include "inspect/inspect.h"
#include "sim/inspector.h"

// A thread that does more than this without a barrier is cut off, so that one warp's events need at most 1.5 GB.
enum { MOST = 4 << 20, FIRST_ROOM = 1024 };

static bool room_for_key(struct look *l, struct lane *lane) {
  if (lane->key_count < lane->key_room)
    return true;
  if (lane->key_room >= MOST) {
    l->launch->kernel->cut = true;
    return false;
  }
  lane->key_room = lane->key_room ? 2 * lane->key_room : FIRST_ROOM;
  lane->keys = inspect_resize(lane->keys, lane->key_room * sizeof *lane->keys);
  return true;
}

static bool room_for_address(struct lane *lane) {
  if (lane->address_count == lane->address_room) {
    lane->address_room = lane->address_room ? 2 * lane->address_room : FIRST_ROOM;
    lane->addresses = inspect_resize(lane->addresses, lane->address_room * sizeof *lane->addresses);
  }
  return true;
}

void lane_event(struct look *l, uint32_t key) {
  struct lane *lane = l->lane;
  l->last_key = key;
  if (__builtin_expect(lane->key_count < lane->key_room, 1) || room_for_key(l, lane))
    lane->keys[lane->key_count++] = key;
}

static void note_array(struct look *l, size_t offset, uint32_t key) {
  int array = program_array_at(offset);
  if (array >= 0)
    l->launch->kernel->arrays[array] = 1;
  else
    finding_add(FIND_BOUNDS_ARRAY, l->launch->kernel, (struct place){.first = key_place(key)},
                "beyond the shared arrays: thread %d of block %u", l->thread, l->run - l->launch->first_run);
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

void lane_access(struct look *l, uint64_t address, unsigned bytes, uint32_t key) {
  struct memory *memory;
  size_t offset;
  bool skip = l->skip_next;
  l->skip_next = false;
  l->last_key = key;
  if (l->equal.finding)
    race_resolve_equal(l);
  enum space space = memory_space(l, address, &memory, &offset);
  if (space == SPACE_NONE) {
    if (inspect_scored && !is_a_threads(l, address))
      of_the_host(l, key);
    return;
  }
  if (space == SPACE_GLOBAL)
    memory_prefetch(memory, offset);
  if (space == SPACE_GLOBAL)
    memory_check_global(l, address, bytes, key);
  else if (space == SPACE_SHARED && !skip)
    note_array(l, offset, key);
  else if (space == SPACE_DYNAMIC && offset + bytes > l->dynamic_bytes) {
    beyond_dynamic(l, offset, bytes, key);
    skip = true;
  }
  if (!skip) {
    unsigned count;
    struct cell *cells = memory_cells(memory, offset, bytes, &count);
    race_check(l, cells, count, key, address, space);
  }
  struct lane *lane = l->lane;
  if (lane->key_count < lane->key_room || room_for_key(l, lane)) {
    lane->keys[lane->key_count++] = key;
    room_for_address(lane);
    lane->addresses[lane->address_count++] = address;
  }
}

// The events of one warp are complete, or as far as they go before its next wait.
void lane_flush(struct look *l) {
  uint32_t active = 0;
  if (l->warp < 0)
    return;
  for (unsigned i = 0; i < WARP; i++)
    if (l->lanes[i].key_count)
      active |= 1u << i;
  if (active)
    replay(l, active);
  for (unsigned i = 0; i < WARP; i++)
    l->lanes[i].key_count = l->lanes[i].address_count = 0;
}
