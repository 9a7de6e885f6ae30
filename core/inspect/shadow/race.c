// SPDX-License-Identifier: MIT
// Data races, after FastTrack (Flanagan and Freund, PLDI 2009): each word remembers epochs of its last write and
// reads. Of two accesses, one of them a write, what orders them? A barrier (they are in different phases), a
// synchronization of the warp (vector_clock.c), a fence and an atomic (sync.c), or, of different launches, a stream
// (launch_history.c). Otherwise it is a race.
//
// Shadow words are never cleared: the interval of an epoch says whether it belongs to this block and phase. Where
// FastTrack keeps a vector clock for a shared word, a shadow state keeps two reads, which may miss a race with a
// third.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/vector_clock.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/strong.h"
#include "inspect/shadow/sync.h"
#include "inspect/shadow/launch_history.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/shadow_word.h"

// ---- intervals ------------------------------------------------------------------------------------------------------------------------

struct interval *race_intervals;
uint32_t race_intervals_begin = 1;
static uint32_t intervals_end = 1, interval_capacity;

uint64_t race_new_instances(uint64_t count) {
  static uint64_t next = 1;
  next += count;
  return next - count;
}

uint32_t race_now(void) {
  return intervals_end;
}

void race_forget(void) {
  race_intervals_begin = intervals_end;
}

uint32_t race_new_interval(uint64_t instance, uint32_t phase, uint32_t first_clock) {
  const uint32_t count = intervals_end - race_intervals_begin;
  if (intervals_end == UINT32_MAX)
    inspect_give_up("more than 4,294,967,294 barrier intervals: --blocks N instruments fewer blocks");
  if (count == interval_capacity) {
    interval_capacity = interval_capacity ? 2 * interval_capacity : 1024;
    race_intervals = inspect_resize(race_intervals, interval_capacity * sizeof *race_intervals);
  }
  race_intervals[count] = (struct interval){instance, phase, first_clock};
  return intervals_end++;
}

void race_begin_phase(struct block_state *bs) {
  vector_clock_begin_phase(bs);
  race_begin_interval(bs);
  bs->phase_interval = bs->interval;
  bs->first_interval = bs->launch->first_interval;
}

void race_begin_interval(struct block_state *bs) {
  bs->interval = race_new_interval(bs->instance, bs->phase, bs->clock.begin);
  race_thread_runs(bs);
}

struct access race_access_of(const struct epoch *epoch) {
  const struct interval *interval = interval_of(epoch);
  return (struct access){interval->instance, epoch->event, interval->phase,
                         interval->first_clock + (epoch->accessor >> ACCESSOR_CLOCK_AT), (uint16_t)thread_of(epoch)};
}

// ---- shadow states --------------------------------------------------------------------------------------------------------

struct shadow_state **race_shadow_states;
static uint32_t state_count = 1, chunk_count;

static void add_chunk(struct shadow_state *states) {
  if ((chunk_count & (chunk_count - 1)) == 0) // capacity doubles at powers of two
    race_shadow_states =
        inspect_resize(race_shadow_states, (chunk_count ? 2 * chunk_count : 1) * sizeof *race_shadow_states);
  race_shadow_states[chunk_count++] = states;
}

static uint32_t new_shadow_state(void) {
  if (state_count / STATES_PER_CHUNK == chunk_count)
    add_chunk(inspect_allocate(STATES_PER_CHUNK * sizeof **race_shadow_states));
  return state_count++;
}

// Shared memory: its words' shadow states are an array parallel to its shadow words.
static struct zone {
  const struct shadow_word *first;
  size_t count;
  uint32_t first_state; // of the first word
} * zones;
static size_t zone_count;

struct shadow_state *race_shadow_states_for(const struct shadow_word *words, size_t count) {
  const size_t chunks = (count + STATES_PER_CHUNK - 1) / STATES_PER_CHUNK;
  struct shadow_state *states = inspect_allocate(chunks * STATES_PER_CHUNK * sizeof *states);
  state_count = (state_count + STATES_PER_CHUNK - 1) / STATES_PER_CHUNK *
                STATES_PER_CHUNK; // the rest of the last chunk stays unused
  if (chunk_count == 0)
    add_chunk(inspect_allocate(STATES_PER_CHUNK * sizeof **race_shadow_states));
  zones = inspect_resize(zones, (zone_count + 1) * sizeof *zones);
  zones[zone_count++] = (struct zone){words, count, state_count};
  for (size_t i = 0; i < chunks; i++)
    add_chunk(states + i * STATES_PER_CHUNK);
  state_count += (uint32_t)(chunks * STATES_PER_CHUNK);
  return states;
}

static uint32_t shadow_state_for(const struct shadow_word *word) {
  for (size_t i = 0; i < zone_count; i++)
    if ((uintptr_t)word - (uintptr_t)zones[i].first < zones[i].count * sizeof *word)
      return zones[i].first_state + (uint32_t)(word - zones[i].first);
  return new_shadow_state();
}

void race_copy_shadow_word(struct shadow_word *to, const struct shadow_word *from) {
  *to = *from;
  if (from->inflated == 0)
    return;
  to->inflated = new_shadow_state();
  *shadow_state_at(to->inflated) = *shadow_state_at(from->inflated);
}

struct shadow_state *race_inflate(struct shadow_word *word) {
  if (word->inflated)
    return shadow_state_at(word->inflated);
  word->inflated = shadow_state_for(word);
  struct shadow_state *r = shadow_state_at(word->inflated);
  struct epoch *last = &word->last;
  if (!is_read(last->event)) {
    r->write = *last;
  } else {
    if (last->accessor & ACCESSOR_HAS_OTHER)
      r->other = (struct epoch){last->interval, last->event,
                                (last->accessor & (ACCESSOR_WARP | ACCESSOR_CLOCK)) |
                                    (last->accessor & ACCESSOR_OTHER) >> ACCESSOR_OTHER_AT};
    r->read = (struct epoch){last->interval, last->event, last->accessor & (ACCESSOR_THREAD | ACCESSOR_CLOCK)};
  }
  last->interval = 0;
  return r;
}

void race_recheck_next(struct shadow_word *word) {
  race_inflate(word);
  word->last.interval = 0;
}

bool race_last_write(const struct shadow_word *word, struct access *write) {
  const struct epoch *epoch = word->inflated ? &shadow_state_at(word->inflated)->write : &word->last;
  if (epoch->interval < race_intervals_begin || is_read(epoch->event))
    return false;
  *write = race_access_of(epoch);
  return true;
}

// ---- findings --------------------------------------------------------------------------------------------------------------------

const char *race_verb(uint32_t event) {
  return is_atomic_of_block(event) ? "updates atomically (block scope)"
         : is_atomic(event)        ? "updates atomically"
         : is_read(event)          ? "reads"
                                   : "writes";
}

// "byte 12 of tile", "byte 12 of 4096 in device memory"
static void describe(const struct block_state *bs, uint64_t address, enum space space, char *text, size_t bytes) {
  int array = space == SPACE_SHARED ? program_array_at(address - (uintptr_t)bs->shared) : -1;
  const struct allocation *a = space == SPACE_GLOBAL ? memory_allocation(address) : NULL;
  if (array >= 0)
    snprintf(text, bytes, "byte %zu of %s", (size_t)(address - (uintptr_t)bs->shared) - program_array(array)->offset,
             program_array(array)->name);
  else if (space == SPACE_DYNAMIC)
    snprintf(text, bytes, "byte %zu of dynamic shared memory", (size_t)(address - (uintptr_t)bs->dynamic));
  else if (a)
    memory_describe(a, address, text, bytes);
  else
    snprintf(text, bytes, "a variable");
}

static uint32_t allocated_at(uint64_t address, enum space space) {
  const struct allocation *a = space == SPACE_GLOBAL ? memory_allocation(address) : NULL;
  return a ? a->pc : 0;
}

// Two writes of the same value are harmless. The second write's value is known when its thread continues. A struct is
// written in several accesses of one event, one after the other.
static void await_value(struct block_state *bs, struct finding *finding, uint64_t address, unsigned bytes,
                        uint32_t event, enum finding_kind kind) {
  if (finding->kind != FIND_EQUAL)
    return;
  if (bs->equal.finding != finding || bs->equal.address + bs->equal.bytes != address) {
    race_resolve_equal(bs);
    bs->equal.address = address;
    bs->equal.bytes = 0;
  }
  if (bs->equal.bytes + bytes > bs->equal.room) {
    bs->equal.room = 2 * (bs->equal.bytes + bytes);
    bs->equal.before = inspect_resize(bs->equal.before, bs->equal.room);
  }
  memcpy(bs->equal.before + bs->equal.bytes, (const void *)(uintptr_t)address, bytes); // NOLINT
  bs->equal.bytes += bytes;
  bs->equal.finding = finding;
  bs->equal.event = event;
  bs->equal.kind = kind;
  inspect_pend(bs);
}

void race_resolve_equal(struct block_state *bs) {
  struct finding *finding = bs->equal.finding;
  bs->equal.finding = NULL;
  if (finding && memcmp(bs->equal.before, (const void *)(uintptr_t)bs->equal.address, bs->equal.bytes) != 0) { // NOLINT
    finding->kind = bs->equal.kind;
    finding->hidden = false;
  }
}

bool race_awaits_value(const struct block_state *bs, uint32_t event) {
  return bs->equal.finding && (is_read(event) || event == bs->equal.event);
}

static const char *missing_fence(struct block_state *bs, const struct access *before) {
  static const char *const texts[] = {
      [LACKS_ORDER] = "",
      [LACKS_SCOPE] = "; only a __threadfence_block() orders them, which orders threads of one block: use "
                      "__threadfence()",
      [LACKS_FENCE_OF_LOCK] = "; the second thread took a lock with atomicCAS, and has executed no __threadfence() "
                              "since"};
  return texts[sync_lacks(bs, before)];
}

static void report(struct block_state *bs, enum finding_kind kind, const struct access *before, uint32_t event,
                   uint64_t address, enum space space) {
  char what[200];
  const unsigned block = block_of(bs->launch, bs->instance);
  const bool strong = strong_both(bs, before, event);
  const bool writes =
      !is_read(before->event) && !is_read(event) && !is_atomic(event) && (strong || !is_atomic(before->event));
  struct location location = {event_pc(before->event), event_pc(event), allocated_at(address, space), NULL, 0, 0};
  const enum finding_kind if_different = kind;
  const bool known = finding_has(kind, bs->launch->kernel, location);
  if (writes && !known)
    kind = FIND_EQUAL;
  describe(bs, address, space, what, sizeof what);
  const char *fence = known ? "" : missing_fence(bs, before);
  struct finding *finding;
  if (before->instance == bs->instance)
    finding = finding_add(kind, bs->launch->kernel, location, "%s: thread %d %s, thread %d %s, in block %u%s", what,
                          before->thread, race_verb(before->event), bs->thread, race_verb(event), block, fence);
  else
    finding =
        finding_add(kind, bs->launch->kernel, location, "%s: thread %d of block %u %s, thread %d of block %u %s%s",
                    what, before->thread, block_of(bs->launch, before->instance), race_verb(before->event), bs->thread,
                    block, race_verb(event), fence);
  finding->hidden |= finding->count == 1 && kind == FIND_EQUAL && strong;
  if (finding_observer)
    finding_observer->race(finding, before, event, address);
  await_value(bs, finding, address, access_bytes(event), event, if_different);
}

// The earlier access is in this block and phase, by another thread, and one of the two writes.
static __attribute__((noinline)) void conflict(struct block_state *bs, const struct access *before, uint32_t event,
                                               uint64_t address, enum space space) {
  bool one_warp = before->thread / WARP == (unsigned)bs->thread / WARP;
  if (vector_clock_orders(bs, before->thread, before->warp_clock) ||
      strong_agree(bs, before, event, address, space, one_warp) || sync_happens_before(bs, before))
    return;
  report(bs, one_warp ? FIND_RACE_WARP : FIND_RACE_BLOCK, before, event, address, space);
}

static void check_in_flight(struct block_state *bs, const struct epoch *epoch, uint32_t interval, uint32_t event,
                            uint64_t address, enum space space) {
  char what[200];
  if (epoch->interval < interval || epoch->interval < bs->block_interval || !is_read(epoch->event))
    return;
  const unsigned reader = thread_of(epoch);
  describe(bs, address, space, what, sizeof what);
  finding_add(FIND_RACE_ASYNC, bs->launch->kernel,
              (struct location){event_pc(epoch->event), event_pc(event), 0, NULL, 0, 0},
              "%s: thread %u reads, thread %d has not waited for its copy, in block %u", what, reader, bs->thread,
              block_of(bs->launch, bs->instance));
}

void race_in_flight(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event, uint32_t interval) {
  struct memory *memory;
  size_t offset;
  unsigned count;
  const enum space space = memory_space(bs, address, &memory, &offset);
  if (space != SPACE_SHARED && space != SPACE_DYNAMIC)
    return;
  const struct shadow_word *words = memory_shadow_words(memory, offset, bytes, &count);
  for (unsigned i = 0; i < count; i++) {
    const struct shadow_state *r = words[i].inflated ? shadow_state_at(words[i].inflated) : NULL;
    check_in_flight(bs, r ? &r->read : &words[i].last, interval, event, address, space);
  }
}

// The earlier access is another block's, in the same launch.
static __attribute__((noinline)) void conflict_of_blocks(struct block_state *bs, const struct access *before,
                                                         uint32_t event, uint64_t address, enum space space) {
  if (!strong_agree(bs, before, event, address, space, false) && !sync_happens_before(bs, before))
    report(bs, FIND_RACE_GRID, before, event, address, space);
}

// The earlier access is another launch's, or a copy's.
static __attribute__((noinline)) void conflict_of_launches(struct block_state *bs, const struct epoch *epoch,
                                                           uint32_t event, uint64_t address, enum space space) {
  char what[200], by[200];
  const struct access before = race_access_of(epoch);
  if (history_happens_before(bs->launch, &before) || memory_is_newer(address, epoch->interval))
    return;
  describe(bs, address, space, what, sizeof what);
  snprintf(by, sizeof by, "thread %d of block %u of %s %s", bs->thread, block_of(bs->launch, bs->instance),
           bs->launch->kernel->name, race_verb(event));
  history_report(bs->launch, &before, event, allocated_at(address, space), what, by);
}

void race_barrier_was_needed(struct block_state *bs) {
  if (bs->barrier && bs->needed_phase < bs->phase - 1)
    bs->barrier->needed++;
  bs->needed_phase = bs->phase - 1;
  bs->needed_interval = bs->phase_interval - 1;
}

// The accesses are in different phases, so a barrier orders them. If none of the barriers between is known to be
// needed, the last one is now.
static inline void needs_barrier(struct block_state *bs, uint32_t phase) {
  if (bs->needed_phase < phase)
    race_barrier_was_needed(bs);
}

// ---- uninitialized shared memory ------------------------------------------------------------------------------------------

struct early {
  uint64_t address;
  uint32_t event;
  uint16_t thread;
  enum space space;
};
enum { MOST_EARLY = 1024 };

static __attribute__((noinline)) void early_read(struct block_state *bs, uint32_t event, uint64_t address,
                                                 enum space space) {
  if (bs->early_count == MOST_EARLY)
    return;
  if (bs->early == NULL)
    bs->early = inspect_allocate(MOST_EARLY * sizeof *bs->early);
  bs->early[bs->early_count++] = (struct early){address, event, (uint16_t)bs->thread, space};
}

static bool written_by_another(const struct block_state *bs, uint64_t address, unsigned thread) {
  struct memory *memory;
  size_t offset;
  struct access write;
  memory_space(bs, address, &memory, &offset);
  return race_last_write(memory_shadow_word(memory, offset), &write) && write.instance == bs->instance &&
         write.thread != thread && !is_atomic(write.event);
}

// The simulator runs one thread after another. A read before another thread's write in the same phase is a race, and
// has been reported as one.
void race_resolve_early(struct block_state *bs) {
  for (size_t i = 0; i < bs->early_count; i++) {
    const struct early *early = &bs->early[i];
    char what[200];
    if (written_by_another(bs, early->address, early->thread))
      continue;
    describe(bs, early->address, early->space, what, sizeof what);
    const struct finding *finding =
        finding_add(FIND_UNINITIALIZED_SHARED, bs->launch->kernel, (struct location){.first = event_pc(early->event)},
                    "%s: thread %d of block %u", what, early->thread, block_of(bs->launch, bs->instance));
    if (finding_observer)
      finding_observer->early(finding, early->thread, early->event, early->address);
  }
  bs->early_count = 0;
}

// ---- the next access -----------------------------------------------------------------------------------------------------------

// Atomics do not race with each other, unless one has block scope and the other is another block's.
static inline bool atomics_agree(const struct block_state *bs, const struct epoch *before, uint32_t event) {
  if (!is_atomic(before->event) || !is_atomic(event))
    return false;
  const bool of_block = is_atomic_of_block(before->event) || is_atomic_of_block(event);
  return !of_block || interval_of(before)->instance == bs->instance || !of_launch(bs, interval_of(before));
}

// Reports a race of the two unless something orders them. Whatever is older than the launch's first interval is
// ordered.
static inline void check_pair(struct block_state *bs, const struct epoch *before, uint32_t event, uint64_t address,
                              enum space space) {
  if (before->interval < bs->first_interval || atomics_agree(bs, before, event))
    return;
  const struct interval *interval = interval_of(before);
  struct access access;
  if (interval->instance == bs->instance) {
    if (thread_of(before) == (unsigned)bs->thread)
      return;
    if (before->interval >= bs->phase_interval)
      access = race_access_of(before), conflict(bs, &access, event, address, space);
    else
      needs_barrier(bs, interval->phase);
  } else if (space == SPACE_GLOBAL || space == SPACE_VARIABLE) {
    if (of_launch(bs, interval))
      access = race_access_of(before), conflict_of_blocks(bs, &access, event, address, space);
    else
      conflict_of_launches(bs, before, event, address, space);
  }
}

static inline bool is_of_block(const struct block_state *bs, const struct epoch *epoch) {
  return epoch->interval >= bs->first_interval && interval_of(epoch)->instance == bs->instance;
}

static inline void summarize(const struct block_state *bs, struct shadow_word *word, const struct shadow_state *r,
                             enum space space) {
  const bool here = is_of_block(bs, &r->write);
  const bool old = r->write.interval < bs->first_interval || (here && interval_of(&r->write)->phase < bs->phase &&
                                                              interval_of(&r->write)->phase <= bs->needed_phase);
  if (old && (space == SPACE_GLOBAL || here))
    summarize_reads(bs, word, r);
  else
    word->last.interval = 0;
}

// Returns true if the block has written the word before.
static bool check_shadow_word(struct block_state *bs, struct shadow_word *word, const struct epoch *now,
                              uint64_t address, enum space space) {
  const uint32_t event = now->event;
  const bool simple = word->inflated == 0 && (word->last.interval < bs->first_interval || is_atomic(word->last.event));
  const bool of_block = is_atomic_of_block(event) || is_atomic_of_block(word->last.event);
  if (is_atomic(event) && simple && !of_block) { // many atomics at one address: no shadow state is needed
    const bool written = is_of_block(bs, &word->last);
    word->last = *now;
    return written;
  }
  struct shadow_state *r = race_inflate(word);
  const bool written = is_of_block(bs, &r->write);
  check_pair(bs, &r->write, event, address, space);
  if (r->plain.interval && (is_atomic(event) || program_is_volatile(event_pc(event))))
    check_pair(bs, &r->plain, event, address, space);
  if (is_read(event)) {
    record_read(bs, r, now);
    summarize(bs, word, r, space);
    return written;
  }
  check_pair(bs, &r->read, event, address, space);
  check_pair(bs, &r->other, event, address, space);
  if (!is_atomic(event))
    r->plain.interval = 0;
  else if (!is_atomic(r->write.event) && !program_is_volatile(event_pc(r->write.event)))
    r->plain = r->write; // races with atomics in other blocks, although this one follows it
  r->write = *now;
  word->last.interval = 0;
  return written;
}

void race_check(struct block_state *bs, struct shadow_word *words, unsigned count, uint32_t event, uint64_t address,
                enum space space) {
  const bool shared = space == SPACE_SHARED || space == SPACE_DYNAMIC;
  const bool reads = is_atomic(event) && strong_leaves_value(bs, event, address);
  const bool as_read = reads && !is_atomic_of_block(event) && !shared;
  const struct epoch now = {bs->interval, as_read ? strong_as_read(event) : event, bs->accessor};
  bool written = false;
  for (unsigned i = 0; i < count; i++)
    written |= check_shadow_word(bs, &words[i], &now, address, space);
  if (shared && (is_read(event) || (is_atomic(event) && bs->atomic.kind != ATOMIC_EXCHANGES)) && !written)
    early_read(bs, event, address, space);
  if (is_atomic(event))
    strong_synchronize(bs, words, event, address, reads);
}
