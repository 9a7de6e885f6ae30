// Two accesses to one word, of which one writes: what orders them? A barrier between (they are in different phases), a meeting of
// the warp, a fence and an atomic (order.c), or nothing. Cells of words are never cleared: a mark's era says whether it is of this
// block and of now.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/shadow/clock.h"
#include "inspect/simt/lane.h"
#include "inspect/shadow/memory.h"
#include "inspect/shadow/order.h"
#include "inspect/shadow/past.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"
#include "inspect/shadow/word.h"

// ---- eras ------------------------------------------------------------------------------------------------------------------------

struct era *race_eras;
uint32_t race_eras_begin = 1;
static uint32_t eras_end = 1, era_room;

uint32_t race_now(void) {
  return eras_end;
}

void race_forget(void) {
  race_eras_begin = eras_end;
}

uint32_t race_new_era(uint64_t run, uint32_t phase, uint32_t epochs) {
  const uint32_t count = eras_end - race_eras_begin;
  if (eras_end == UINT32_MAX)
    inspect_give_up("more than 4,294,967,294 phases of blocks were looked at: --blocks N looks at fewer blocks");
  if (count == era_room) {
    era_room = era_room ? 2 * era_room : 1024;
    race_eras = inspect_resize(race_eras, era_room * sizeof *race_eras);
  }
  race_eras[count] = (struct era){run, phase, epochs};
  return eras_end++;
}

void race_begin_phase(struct look *l) {
  clock_begin_phase(l);
  race_begin_era(l);
  l->phase_era = l->era;
  l->first_era = l->launch->first_era;
}

void race_begin_era(struct look *l) {
  l->era = race_new_era(l->run, l->phase, l->clock.begin);
  race_thread_runs(l);
}

struct note race_note_of(const struct mark *mark) {
  const struct era *era = era_of(mark);
  return (struct note){era->run, mark->key, era->phase, era->epochs + (mark->who >> WHO_EPOCH_AT),
                       (uint16_t)thread_of(mark)};
}

// ---- what a word remembers ---------------------------------------------------------------------------------------------------------

struct record **race_records;
static uint32_t record_count = 1, piece_count;

static void add_piece(struct record *records) {
  if ((piece_count & (piece_count - 1)) == 0) // room doubles at powers of two
    race_records = inspect_resize(race_records, (piece_count ? 2 * piece_count : 1) * sizeof *race_records);
  race_records[piece_count++] = records;
}

static uint32_t new_record(void) {
  if (record_count / RECORDS == piece_count)
    add_piece(inspect_allocate(RECORDS * sizeof **race_records));
  return record_count++;
}

// Of shared memory: cells whose records lie side by side, as they do, so that they are found without being looked up.
static struct zone {
  const struct cell *first;
  size_t count;
  uint32_t record; // the first cell's
} * zones;
static size_t zone_count;

struct record *race_records_for(const struct cell *cells, size_t count) {
  const size_t pieces = (count + RECORDS - 1) / RECORDS;
  struct record *records = inspect_allocate(pieces * RECORDS * sizeof *records);
  record_count = (record_count + RECORDS - 1) / RECORDS * RECORDS; // the rest of the piece that was filled is left
  if (piece_count == 0)
    add_piece(inspect_allocate(RECORDS * sizeof **race_records));
  zones = inspect_resize(zones, (zone_count + 1) * sizeof *zones);
  zones[zone_count++] = (struct zone){cells, count, record_count};
  for (size_t i = 0; i < pieces; i++)
    add_piece(records + i * RECORDS);
  record_count += (uint32_t)(pieces * RECORDS);
  return records;
}

static uint32_t record_for(const struct cell *cell) {
  for (size_t i = 0; i < zone_count; i++)
    if ((uintptr_t)cell - (uintptr_t)zones[i].first < zones[i].count * sizeof *cell)
      return zones[i].record + (uint32_t)(cell - zones[i].first);
  return new_record();
}

void race_copy_cell(struct cell *to, const struct cell *from) {
  *to = *from;
  if (from->more == 0)
    return;
  to->more = new_record();
  *record_at(to->more) = *record_at(from->more);
}

// The cell's record, which takes what it has remembered so far.
struct record *race_open_record(struct cell *cell) {
  if (cell->more)
    return record_at(cell->more);
  cell->more = record_for(cell);
  struct record *r = record_at(cell->more);
  struct mark *last = &cell->last;
  if (!is_read(last->key)) {
    r->write = *last;
  } else {
    if (last->who & WHO_HAS_OTHER)
      r->other = (struct mark){last->era, last->key,
                               (last->who & (WHO_WARP | WHO_EPOCH)) | (last->who & WHO_OTHER) >> WHO_OTHER_AT};
    r->read = (struct mark){last->era, last->key, last->who & (WHO_THREAD | WHO_EPOCH)};
  }
  last->era = 0;
  return r;
}

void race_ask_again(struct cell *cell) {
  race_open_record(cell);
  cell->last.era = 0;
}

bool race_last_write(const struct cell *cell, struct note *write) {
  const struct mark *mark = cell->more ? &record_at(cell->more)->write : &cell->last;
  if (mark->era < race_eras_begin || is_read(mark->key))
    return false;
  *write = race_note_of(mark);
  return true;
}

// ---- findings --------------------------------------------------------------------------------------------------------------------

const char *race_verb(uint32_t key) {
  return is_atomic_of_block(key) ? "updates atomically for its block alone"
         : is_atomic(key)        ? "updates atomically"
         : is_read(key)          ? "reads"
                                 : "writes";
}

// "shared array tile", "the 4096 bytes of device memory"
static void describe(const struct look *l, uint64_t address, enum space space, char *text, size_t bytes) {
  int array = space == SPACE_SHARED ? program_array_at(address - (uintptr_t)l->shared) : -1;
  const struct allocation *a = space == SPACE_GLOBAL ? memory_allocation(address) : NULL;
  if (array >= 0)
    snprintf(text, bytes, "byte %zu of %s", (size_t)(address - (uintptr_t)l->shared) - program_array(array)->offset,
             program_array(array)->name);
  else if (space == SPACE_DYNAMIC)
    snprintf(text, bytes, "byte %zu of dynamic shared memory", (size_t)(address - (uintptr_t)l->dynamic));
  else if (a)
    memory_describe(a, address, text, bytes);
  else
    snprintf(text, bytes, "a variable");
}

static uint32_t place_of(uint64_t address, enum space space) {
  const struct allocation *a = space == SPACE_GLOBAL ? memory_allocation(address) : NULL;
  return a ? a->place : 0;
}

static uint64_t value_at(uint64_t address, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, (const void *)(uintptr_t)address, bytes < sizeof value ? bytes : sizeof value); // NOLINT
  return value;
}

// Two writes may be of the same value, which harms nobody. What this one writes is known when its thread goes on.
static void await_value(struct look *l, struct finding *finding, uint64_t address, unsigned bytes) {
  if (finding->kind != FIND_EQUAL)
    return;
  lane_pend(l);
  l->equal.finding = finding;
  l->equal.address = address;
  l->equal.bytes = bytes;
  l->equal.before = value_at(address, bytes);
}

void race_resolve_equal(struct look *l) {
  struct finding *finding = l->equal.finding;
  l->equal.finding = NULL;
  if (finding && value_at(l->equal.address, l->equal.bytes) != l->equal.before)
    finding->kind = l->equal.kind;
}

static void report(struct look *l, enum finding_kind kind, const struct note *before, uint32_t key, uint64_t address,
                   enum space space) {
  char what[200];
  const unsigned block = block_of(l->launch, l->run);
  bool writes = !is_read(before->key) && !is_read(key) && !is_atomic(key) && !is_atomic(before->key);
  struct place place = {key_place(before->key), key_place(key), place_of(address, space), NULL, 0, 0};
  if (writes && !finding_has(kind, l->launch->kernel, place)) {
    l->equal.kind = kind;
    kind = FIND_EQUAL;
  }
  describe(l, address, space, what, sizeof what);
  struct finding *finding;
  if (before->run == l->run)
    finding = finding_add(kind, l->launch->kernel, place, "%s: thread %d %s, thread %d %s, in block %u", what,
                          before->thread, race_verb(before->key), l->thread, race_verb(key), block);
  else
    finding = finding_add(kind, l->launch->kernel, place, "%s: thread %d of block %u %s, thread %d of block %u %s",
                          what, before->thread, block_of(l->launch, before->run), race_verb(before->key), l->thread,
                          block, race_verb(key));
  await_value(l, finding, address, access_bytes(key));
}

// Atomic and volatile accesses do not race with each other: that is how one thread waits for another. But lanes of a warp that
// exchange something through volatile memory wait for nobody; and in shared memory warps have barriers for that.
static bool is_strong(const struct look *l, const struct note *note, uint32_t key) {
  return is_atomic(key) ? !is_atomic_of_block(key) || note->run == l->run : program_is_volatile(key_place(key));
}

static bool agree(const struct look *l, const struct note *before, uint32_t key, enum space space, bool one_warp) {
  const bool atomic = is_atomic(before->key) || is_atomic(key);
  const bool global = space == SPACE_GLOBAL || space == SPACE_VARIABLE;
  return (atomic || (global && !one_warp)) && is_strong(l, before, before->key) && is_strong(l, before, key);
}

// The earlier access is of this block and phase, by another thread, and one of the two writes.
static __attribute__((noinline)) void conflict(struct look *l, const struct note *before, uint32_t key,
                                               uint64_t address, enum space space) {
  bool one_warp = before->thread / WARP == (unsigned)l->thread / WARP;
  if (clock_orders(l, before->thread, before->epoch) || agree(l, before, key, space, one_warp) ||
      order_knows(l, before))
    return;
  report(l, one_warp ? FIND_RACE_WARP : FIND_RACE_BLOCK, before, key, address, space);
}

static void meet_in_flight(struct look *l, const struct mark *mark, uint32_t era, uint32_t key, uint64_t address,
                           enum space space) {
  char what[200];
  if (mark->era < era || mark->era < l->block_era || !is_read(mark->key))
    return;
  const unsigned reader = thread_of(mark);
  describe(l, address, space, what, sizeof what);
  finding_add(FIND_RACE_ASYNC, l->launch->kernel, (struct place){key_place(mark->key), key_place(key), 0, NULL, 0, 0},
              "%s: thread %u reads, thread %d has not waited for its copy, in block %u", what, reader, l->thread,
              block_of(l->launch, l->run));
}

void race_in_flight(struct look *l, uint64_t address, unsigned bytes, uint32_t key, uint32_t era) {
  struct memory *memory;
  size_t offset;
  unsigned count;
  const enum space space = memory_space(l, address, &memory, &offset);
  if (space != SPACE_SHARED && space != SPACE_DYNAMIC)
    return;
  const struct cell *cells = memory_cells(memory, offset, bytes, &count);
  for (unsigned i = 0; i < count; i++) {
    const struct record *r = cells[i].more ? record_at(cells[i].more) : NULL;
    meet_in_flight(l, r ? &r->read : &cells[i].last, era, key, address, space);
  }
}

// The earlier access is another block's of the same launch.
static __attribute__((noinline)) void conflict_of_blocks(struct look *l, const struct note *before, uint32_t key,
                                                         uint64_t address, enum space space) {
  if (!agree(l, before, key, space, false) && !order_knows(l, before))
    report(l, FIND_RACE_GRID, before, key, address, space);
}

// The earlier access is another launch's, or a copy's.
static __attribute__((noinline)) void conflict_of_launches(struct look *l, const struct mark *mark, uint32_t key,
                                                           uint64_t address, enum space space) {
  char what[200], by[200];
  const struct note before = race_note_of(mark);
  if (past_is_ordered(l->launch, &before) || memory_is_newer(address, mark->era))
    return;
  describe(l, address, space, what, sizeof what);
  snprintf(by, sizeof by, "thread %d of block %u of %s %s", l->thread, block_of(l->launch, l->run),
           l->launch->kernel->name, race_verb(key));
  past_conflict(l->launch, &before, key, place_of(address, space), what, by);
}

void race_barrier_was_needed(struct look *l) {
  if (l->barrier && l->needed_phase < l->phase - 1)
    l->barrier->needed++;
  l->needed_phase = l->phase - 1;
  l->needed_era = l->phase_era - 1;
}

// An access of an earlier phase: a barrier between has ordered the two. If none of those has a reason yet, the last one gets it.
static inline void needs_barrier(struct look *l, uint32_t phase) {
  if (l->needed_phase < phase)
    race_barrier_was_needed(l);
}

// ---- shared memory that nothing has written ----------------------------------------------------------------------------------------

struct early {
  uint64_t address;
  uint32_t key;
  uint16_t thread;
  enum space space;
};
enum { MOST_EARLY = 1024 };

static __attribute__((noinline)) void early_read(struct look *l, uint32_t key, uint64_t address, enum space space) {
  if (l->early_count == MOST_EARLY)
    return;
  if (l->early == NULL)
    l->early = inspect_allocate(MOST_EARLY * sizeof *l->early);
  l->early[l->early_count++] = (struct early){address, key, (uint16_t)l->thread, space};
}

static bool written_by_another(const struct look *l, uint64_t address, unsigned thread) {
  struct memory *memory;
  size_t offset;
  struct note write;
  memory_space(l, address, &memory, &offset);
  return race_last_write(memory_cell(memory, offset), &write) && write.run == l->run && write.thread != thread &&
         !is_atomic(write.key);
}

// The simulator runs one thread after another: a read that comes before another thread's write of the same phase is a race, and
// has been found as one.
void race_resolve_early(struct look *l) {
  for (size_t i = 0; i < l->early_count; i++) {
    const struct early *early = &l->early[i];
    char what[200];
    if (written_by_another(l, early->address, early->thread))
      continue;
    describe(l, early->address, early->space, what, sizeof what);
    finding_add(FIND_UNINITIALISED_SHARED, l->launch->kernel, (struct place){.first = key_place(early->key)},
                "%s: thread %d of block %u", what, early->thread, block_of(l->launch, l->run));
  }
  l->early_count = 0;
}

// ---- the next access -----------------------------------------------------------------------------------------------------------

// Atomics do not conflict with each other, unless one is for its block alone and the other of another block.
static inline bool atomics_agree(const struct look *l, const struct mark *before, uint32_t key) {
  if (!is_atomic(before->key) || !is_atomic(key))
    return false;
  const bool of_block = is_atomic_of_block(before->key) || is_atomic_of_block(key);
  return !of_block || era_of(before)->run == l->run || !of_launch(l, era_of(before));
}

// The two conflict unless something orders them, as it does all that is older than the launch's first era.
static inline void pair(struct look *l, const struct mark *before, uint32_t key, uint64_t address, enum space space) {
  if (before->era < l->first_era || atomics_agree(l, before, key))
    return;
  const struct era *era = era_of(before);
  struct note note;
  if (era->run == l->run) {
    if (thread_of(before) == (unsigned)l->thread)
      return;
    if (before->era >= l->phase_era)
      note = race_note_of(before), conflict(l, &note, key, address, space);
    else
      needs_barrier(l, era->phase);
  } else if (space == SPACE_GLOBAL || space == SPACE_VARIABLE) {
    if (of_launch(l, era))
      note = race_note_of(before), conflict_of_blocks(l, &note, key, address, space);
    else
      conflict_of_launches(l, before, key, address, space);
  }
}

static inline bool is_of_block(const struct look *l, const struct mark *mark) {
  return mark->era >= l->first_era && era_of(mark)->run == l->run;
}

static inline void settle(const struct look *l, struct cell *cell, const struct record *r, enum space space) {
  const bool here = is_of_block(l, &r->write);
  const bool old = r->write.era < l->first_era ||
                   (here && era_of(&r->write)->phase < l->phase && era_of(&r->write)->phase <= l->needed_phase);
  if (old && (space == SPACE_GLOBAL || here))
    settle_reads(l, cell, r);
  else
    cell->last.era = 0;
}

// True: the block has written the word before.
static bool check_cell(struct look *l, struct cell *cell, const struct mark *now, uint64_t address, enum space space) {
  const uint32_t key = now->key;
  const bool simple = cell->more == 0 && (cell->last.era < l->first_era || is_atomic(cell->last.key));
  const bool of_block = is_atomic_of_block(key) || is_atomic_of_block(cell->last.key);
  if (is_atomic(key) && simple && !of_block) { // many atomics at one address
    const bool written = is_of_block(l, &cell->last);
    cell->last = *now;
    return written;
  }
  struct record *r = race_open_record(cell);
  const bool written = is_of_block(l, &r->write);
  pair(l, &r->write, key, address, space);
  if (is_read(key)) {
    note_read(l, r, now);
    settle(l, cell, r, space);
    return written;
  }
  pair(l, &r->read, key, address, space);
  pair(l, &r->other, key, address, space);
  r->write = *now;
  cell->last.era = 0;
  return written;
}

void race_check(struct look *l, struct cell *cells, unsigned count, uint32_t key, uint64_t address, enum space space) {
  const struct mark now = {l->era, key, l->who};
  bool written = false;
  for (unsigned i = 0; i < count; i++)
    written |= check_cell(l, &cells[i], &now, address, space);
  if ((space == SPACE_SHARED || space == SPACE_DYNAMIC) && (is_read(key) || is_atomic(key)) && !written)
    early_read(l, key, address, space);
  if (is_atomic(key))
    order_atomic(l, address);
}
