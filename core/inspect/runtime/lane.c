// SPDX-License-Identifier: MIT
// The trace of each lane: its events since the last flush. The simulator runs a warp's lanes one after another, so
// traces are kept until the warp is complete. Also the slow path of accesses.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/runtime/access.h"
#include "inspect/runtime/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/launch_history.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/simt/simt_stack.h"
#include "inspect/shadow/shadow_word.h"
#include "inspect/step/step.h"
#include "sim/base/plugin.h"

// A longer trace without a barrier is cut, so that one warp's events take at most 1.5 GB.
enum { MOST = 4 << 20, FIRST_ROOM = 1024, SMALL_ROOM = 64 };

static void set_room(struct lane *lane, uint32_t room, uint32_t *own, uint64_t *addresses) {
  lane->room = room;
  lane->own = own;
  lane->addresses = addresses;
}

// Makes this buffer, with `count` events in it, the lane's.
static void set_events(struct lane *lane, uint32_t *events, ptrdiff_t count) {
  lane->events = events;
  lane->tail = (struct tail){events + count, events + lane->room, (uintptr_t)lane->addresses - 2 * (uintptr_t)events};
}

// The common trace has room for as many events as a lane.
static void grow_trace(struct block_state *bs, uint32_t room) {
  uint32_t *const old = bs->trace;
  if (room <= bs->trace_capacity)
    return;
  bs->trace = inspect_resize(NULL, room * sizeof *bs->trace);
  memset(bs->trace, 0, room * sizeof *bs->trace);
  if (old)
    memcpy(bs->trace, old, bs->trace_capacity * sizeof *bs->trace);
  bs->trace_capacity = room;
  for (unsigned i = 0; i < WARP && old; i++)
    if (bs->lanes[i].events == old)
      set_events(&bs->lanes[i], bs->trace, bs->lanes[i].tail.next - old);
  free(old);
}

static void make_small(struct block_state *bs) {
  uint64_t *words = inspect_allocate((size_t)WARP * SMALL_ROOM * (sizeof(uint64_t) + sizeof(uint32_t)));
  for (size_t i = 0; i < WARP; i++, words += SMALL_ROOM * 3 / 2)
    bs->rooms[i] = (struct lane_room){.small = (uint32_t *)words, .small_addresses = words + SMALL_ROOM / 2};
}

static void make_large(struct lane_room *r, uint32_t room) {
  r->room = room;
  r->large = inspect_resize(r->large, room * sizeof *r->large);
  r->large_addresses = inspect_resize(r->large_addresses, room * sizeof *r->large_addresses);
}

void lanes_begin(struct block_state *bs, const struct kernel *kernel) {
  const bool large = kernel->lanes_are_large, first = bs->rooms[0].small == NULL;
  if (!first && large == bs->lanes_are_large)
    return;
  if (first)
    make_small(bs);
  for (unsigned i = 0; i < WARP; i++) {
    struct lane_room *r = &bs->rooms[i];
    if (large && r->room == 0)
      make_large(r, FIRST_ROOM);
    if (large)
      set_room(&bs->lanes[i], r->room, r->large, r->large_addresses);
    else
      set_room(&bs->lanes[i], SMALL_ROOM, r->small, r->small_addresses);
    grow_trace(bs, bs->lanes[i].room);
  }
  for (unsigned i = 0; i < WARP; i++)
    set_events(&bs->lanes[i], bs->trace, 0);
  bs->lanes_are_large = large;
}

static bool grow(struct block_state *bs) {
  struct lane *lane = bs->lane;
  struct lane_room *r = &bs->rooms[lane - bs->lanes];
  const ptrdiff_t count = inspect_tail.next - lane->events;
  const bool diverged = lane->events == lane->own;
  if (lane->room >= MOST) {
    bs->launch->kernel->cut = true;
    return false;
  }
  if (lane->own == r->small) {
    if (r->room == 0)
      make_large(r, FIRST_ROOM);
    memcpy(r->large, r->small, SMALL_ROOM * sizeof *r->small);
    memcpy(r->large_addresses, r->small_addresses, SMALL_ROOM * sizeof *r->small_addresses);
    bs->launch->kernel->lanes_are_large = true;
    bs->lanes_are_large = false; // some lanes are, so the next block starts over
  } else {
    make_large(r, 2 * r->room);
  }
  set_room(lane, r->room, r->large, r->large_addresses);
  grow_trace(bs, r->room);
  set_events(lane, diverged ? lane->own : bs->trace, count);
  lane_enter(bs, lane);
  return true;
}

static inline bool has_room(struct block_state *bs) {
  return (size_t)(inspect_tail.next - bs->lane->events) < bs->lane->room || grow(bs);
}

// Notes an event that is not recorded in the lane's trace, so that the next event can be compared with it.
static void skip_event(struct block_state *bs, uint32_t event) {
  bs->last_event = event;
  bs->last_at = inspect_tail.next;
  bs->last_lane = bs->lane;
  inspect_calls++;
}

uint32_t lane_last_event(const struct block_state *bs) {
  const bool skipped = inspect_tail.next == bs->last_at && bs->lane == bs->last_lane;
  return skipped || inspect_tail.next == bs->lane->events ? bs->last_event : inspect_tail.next[-1];
}

// Each array is followed by a redzone that belongs to no array (instrument/pad_arrays.c).
static void beyond_array(struct block_state *bs, size_t offset, uint32_t event) {
  const struct array *before = NULL;
  char what[200] = "past the end of the shared arrays";
  for (int i = 0; i < program_arrays() && program_array(i)->offset <= offset; i++)
    before = program_array(i);
  if (before)
    snprintf(what, sizeof what, "byte %zu of %s, which has %zu", offset - before->offset, before->name, before->bytes);
  finding_add(FIND_BOUNDS_ARRAY, bs->launch->kernel, (struct location){.first = event_pc(event)},
              "%s: thread %d of block %u", what, bs->thread, block_of(bs->launch, bs->instance));
}

static bool is_guard(size_t offset) {
  const int array = program_array_at(offset);
  return array >= 0 && program_array(array)->is_guard;
}

// False: the offset is in no array, which has been reported. Otherwise all whole words of the array are marked as
// known, and take the fast path from here on.
static bool touch_array(struct block_state *bs, size_t offset, uint32_t event) {
  int array = program_array_at(offset);
  if (array < 0) {
    beyond_array(bs, offset, event);
    return false;
  }
  const struct array *a = program_array(array);
  bs->launch->kernel->arrays[array] |= bs->loops ? IN_LOOPS : IN_THREADS;
  for (size_t at = (a->offset + MEMORY_WORD - 1) / MEMORY_WORD; (at + 1) * MEMORY_WORD <= a->offset + a->bytes; at++)
    bs->known_shared[at] = 1;
  return true;
}

static void beyond_dynamic(struct block_state *bs, size_t offset, unsigned bytes, uint32_t event) {
  finding_add(FIND_BOUNDS_DYNAMIC, bs->launch->kernel, (struct location){.first = event_pc(event)},
              "%u byte%s at byte %zu of %zu: thread %d of block %u", bytes, bytes == 1 ? "" : "s", offset,
              bs->dynamic_bytes, bs->thread, block_of(bs->launch, bs->instance));
}

// A thread's own variables are on its stack, not far above this function's frame.
enum { OWN_STACK = 256 << 10 };

static bool is_a_threads(const struct block_state *bs, uint64_t address) {
  const uint64_t frame = (uint64_t)(uintptr_t)__builtin_frame_address(0), own = (uint64_t)(uintptr_t)&inspect_current;
  return address - frame < OWN_STACK || address - bs->launch->closure < bs->launch->closure_bytes ||
         address - (own - OWN_STACK) < 2 * OWN_STACK || // blockIdx and the like are near it
         address - bs->sim_state < bs->sim_state_bytes;
}

static void to_constant(struct block_state *bs, size_t offset, uint32_t event) {
  finding_add(FIND_CONSTANT, bs->launch->kernel, (struct location){.first = event_pc(event)},
              "byte %zu of the program's constant memory: thread %d of block %u", offset, bs->thread,
              block_of(bs->launch, bs->instance));
}

static void of_the_host(struct block_state *bs, uint32_t event) {
  finding_add(FIND_ILLEGAL, bs->launch->kernel, (struct location){.first = event_pc(event)},
              "host memory: thread %d of block %u", bs->thread, block_of(bs->launch, bs->instance));
}

// Two threads' writes of the same value are compared when the second thread goes on. An access that failed the
// compiler's bounds check is not reported twice: true is returned.
static bool end_pending(struct block_state *bs, uint32_t event) {
  bool skip = bs->skip_next;
  bs->skip_next = false;
  if (race_awaits_value(bs, event))
    return skip;
  bs->pending = step_is_on(); // each access is recorded
  inspect_tail.limit = bs->pending ? NULL : bs->lane->tail.limit;
  if (bs->equal.finding)
    race_resolve_equal(bs);
  return skip;
}

// ---- the warp trace ----------------------------------------------------------------------------------------------------

// The lanes of a warp usually do the same, and the same as the previous warp. They share one trace, which each lane
// only compares with its events, until it diverges.

static __attribute__((noinline)) const uint32_t *longest(const struct block_state *bs) {
  const uint32_t *most = bs->trace;
  for (unsigned i = 0; i < WARP; i++)
    if (bs->lanes[i].events == bs->trace && bs->lanes[i].tail.next > most)
      most = bs->lanes[i].tail.next;
  return most;
}

static void diverge(struct block_state *bs) {
  struct lane *lane = bs->lane;
  const ptrdiff_t count = inspect_tail.next - lane->events;
  memcpy(lane->own, lane->events, (size_t)count * sizeof *lane->own);
  set_events(lane, lane->own, count);
  bs->diverged |= 1u << (lane - bs->lanes);
  lane_enter(bs, lane);
}

static void append_event(struct block_state *bs, uint32_t event) {
  if (*inspect_tail.next != event && bs->lane->events == bs->trace) {
    if (bs->longest == NULL)
      bs->longest = longest(bs);
    if (bs->longest > inspect_tail.next)
      diverge(bs);
  }
  *inspect_tail.next++ = event;
}

__attribute__((noinline)) void lane_leave_trace(uint32_t event) {
  append_event(inspect_current, event);
}

void lane_event(struct block_state *bs, uint32_t event) {
  if (has_room(bs))
    append_event(bs, event);
  else
    skip_event(bs, event);
}

static __attribute__((noinline)) void lane_access_slow(struct block_state *bs, uint64_t address, unsigned bytes,
                                                       uint32_t event) {
  struct memory *memory;
  size_t offset;
  if (bs->idle)
    return;
  bool skip = end_pending(bs, event);
  enum space space = memory_space(bs, address, &memory, &offset);
  if (space == SPACE_SHARED && !bs->known_shared[offset / MEMORY_WORD] && is_guard(offset)) {
    skip_event(bs, event);
    return;
  }
  if (space == SPACE_NONE) {
    skip_event(bs, event);
    if (program_is_constant(address, &offset) && !is_read(event))
      to_constant(bs, offset, event);
    else if (program_is_constant(address, &offset))
      history_reads_constant(bs->launch, address, offset, event);
    else if (inspect_scored && !is_a_threads(bs, address))
      of_the_host(bs, event);
    return;
  }
  if (space == SPACE_GLOBAL)
    memory_check(bs, address, bytes, event);
  else if (space == SPACE_SHARED && !skip && !bs->known_shared[offset / MEMORY_WORD])
    skip = !touch_array(bs, offset, event);
  else if (space == SPACE_DYNAMIC && offset + bytes > bs->dynamic_bytes) {
    beyond_dynamic(bs, offset, bytes, event);
    skip = true;
  }
  if (!skip) {
    unsigned count;
    struct shadow_word *words = memory_shadow_words(memory, offset, bytes, &count);
    race_check(bs, words, count, event, address, space);
    if (space == SPACE_GLOBAL && is_read(event) && !access_all_written(address, bytes))
      for (unsigned i = 0; i < count; i++)
        race_recheck_next(&words[i]);
  }
  if (has_room(bs)) {
    lane_keep(address, event);
  } else {
    skip_event(bs, event);
  }
}

static __attribute__((noinline)) void access_word_slowly(struct block_state *bs, uint64_t address,
                                                         struct shadow_word *word, uint32_t event, enum space space) {
  const struct epoch now = {bs->interval, event, bs->accessor};
  if (word->inflated != INFLATED_PER_BYTE && is_covered(bs, word, &now, space))
    lane_keep(address, event);
  else
    lane_access_slow(bs, address, MEMORY_WORD, event);
}

// `reads` and `space` are constants, and so is the event's kind: a read or a write of a word. Ends in at most one
// call, like the functions of access.h.
ACCESS_INLINE void access_word(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event,
                               bool reads, enum space space, struct shadow_state *state) {
  event = (event & ~(uint32_t)KIND_MASK) | ((reads ? EVENT_READ : EVENT_WRITE) + 2);
  if (access_is_plain(bs, word, event, space) ||
      (word->inflated && word->inflated != INFLATED_PER_BYTE &&
       access_is_ordered(bs, word, space == SPACE_GLOBAL ? shadow_state_at(word->inflated) : state, event, space)))
    lane_keep(address, event);
  else
    access_word_slowly(bs, address, word, event, space);
}

void lane_read_global(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event) {
  access_word(bs, address, word, event, true, SPACE_GLOBAL, NULL);
}

void lane_write_global(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event) {
  access_word(bs, address, word, event, false, SPACE_GLOBAL, NULL);
}

void lane_read_shared(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event,
                      struct shadow_state *state) {
  access_word(bs, address, word, event, true, SPACE_SHARED, state);
}

void lane_write_shared(struct block_state *bs, uint64_t address, struct shadow_word *word, uint32_t event,
                       struct shadow_state *state) {
  access_word(bs, address, word, event, false, SPACE_SHARED, state);
}

// A variable on the kernel's stack, or the simulator's data of the block: not traced.
static inline bool is_near(const struct block_state *bs, uint64_t address) {
  enum { NEAR = 8192 };
  return address - (uint64_t)(uintptr_t)__builtin_frame_address(0) < NEAR ||
         address - bs->sim_state < bs->sim_state_bytes;
}

// True: the access cannot race, and has been recorded.
static bool is_common(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  struct memory *memory = memory_global;
  enum space space = SPACE_GLOBAL;
  unsigned count;
  size_t offset = address - memory_arena;
  if (is_atomic(event) || inspect_tail.next >= inspect_tail.limit)
    return false;
  if (offset < memory_arena_bytes) {
    if (!access_all_written(address, bytes))
      return false;
  } else if ((offset = address - (uintptr_t)bs->shared) < bs->shared_bytes) {
    memory = bs->shared_memory;
    space = SPACE_SHARED;
    if (!bs->known_shared[offset / MEMORY_WORD])
      return false;
  } else if ((offset = address - (uintptr_t)bs->dynamic) < SIM_MAX_SHARED) {
    memory = bs->dynamic_memory;
    space = SPACE_DYNAMIC;
    if (offset + bytes > bs->dynamic_bytes)
      return false;
  } else {
    if (!is_near(bs, address))
      return false;
    skip_event(bs, event);
    return true;
  }
  struct shadow_word *words = memory_shadow_words(memory, offset, bytes, &count);
  if (!are_covered(bs, words, count, event, space))
    return false;
  lane_keep(address, event);
  return true;
}

__attribute__((noinline)) void lane_access(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  if (step_is_on())
    step_access(bs, address, bytes, event);
  if (!is_common(bs, address, bytes, event))
    lane_access_slow(bs, address, bytes, event);
}

void lane_elsewhere(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event) {
  // The stack of a thread may end next to dynamic shared memory.
  const bool dynamic = address - (uintptr_t)bs->dynamic < bs->dynamic_bytes;
  if (!bs->pending && !dynamic && is_near(bs, address))
    skip_event(bs, event);
  else
    lane_access(bs, address, bytes, event);
}

static inline size_t kept(const struct lane *lane) {
  return (size_t)((const char *)lane->tail.next - (const char *)lane->events);
}

static void run_active_lanes(struct block_state *bs) {
  uint32_t active = 0;
  for (unsigned i = 0; i < WARP; i++) {
    struct lane *lane = &bs->lanes[i];
    lane->event_count = (uint32_t)(kept(lane) / sizeof *lane->events);
    active |= (uint32_t)(lane->event_count != 0) << i;
    inspect_calls += lane->event_count;
  }
  if (active)
    simt_run(bs, active);
}

static void run_warp(struct block_state *bs) {
  const size_t first = kept(&bs->lanes[0]);
  size_t differs = 0;
  for (unsigned i = 1; i < WARP; i++)
    differs |= kept(&bs->lanes[i]) ^ first;
  const uint32_t count = (uint32_t)(first / sizeof(uint32_t));
  if (differs == 0 && count && bs->diverged == 0 && simt_run_converged(bs, count))
    inspect_calls += (uint64_t)WARP * count;
  else
    run_active_lanes(bs);
}

static void add_calls(const struct block_state *bs) {
  for (unsigned i = 0; i < WARP; i++)
    inspect_calls += kept(&bs->lanes[i]) / sizeof *bs->lanes[i].events;
}

// The warp's traces are complete, up to its next barrier: converts them to warp instructions.
void lane_flush(struct block_state *bs) {
  if (bs->warp < 0 || (bs->longest == bs->trace && inspect_tail.next == bs->trace)) // no event since the last flush
    return;
  bs->last_event = lane_last_event(bs);
  bs->last_at = NULL;
  lane_leave(bs);
  if (inspect_counts)
    run_warp(bs);
  else
    add_calls(bs);
  for (; bs->diverged; bs->diverged &= bs->diverged - 1)
    set_events(&bs->lanes[__builtin_ctz(bs->diverged)], bs->trace, 0);
  for (unsigned i = 0; i < WARP; i++)
    bs->lanes[i].tail.next = bs->trace;
  lane_enter(bs, bs->lane);
  bs->longest = bs->trace;
}
