// Two accesses to one word, of which one writes: what orders them? A barrier between (they are in different phases), a meeting of
// the warp, a fence and an atomic (order.c), or nothing. Cells of words are never cleared: a note's run and phase say whether it
// is of this block and of now.
#include <stdio.h>
#include <string.h>

#include "inspect/inspect.h"

// ---- what orders two accesses of one block and phase ------------------------------------------------------------------------------

// Lanes that meet in a warp function are ordered by it: is there a meeting of both since the earlier access?
static bool ordered_in_warp(const struct look *l, const struct note *before) {
  unsigned warp = before->thread / WARP, now = l->epoch[l->thread];
  uint32_t both = 1u << before->thread % WARP | 1u << l->thread % WARP;
  if ((unsigned)l->thread / WARP != warp)
    return false;
  if (now - before->epoch > MEETINGS)
    return true;
  for (unsigned m = before->epoch + 1u; m <= now; m++)
    if ((l->met[warp][m % MEETINGS] & both) == both)
      return true;
  return false;
}

// ---- findings --------------------------------------------------------------------------------------------------------------------

static const char *verb(uint32_t key) {
  return is_atomic(key) ? "updates atomically" : is_read(key) ? "reads" : "writes";
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
  unsigned first = l->launch->first_run, block = l->run - first;
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
                          before->thread, verb(before->key), l->thread, verb(key), block);
  else
    finding = finding_add(kind, l->launch->kernel, place, "%s: thread %d of block %u %s, thread %d of block %u %s",
                          what, before->thread, before->run - first, verb(before->key), l->thread, block, verb(key));
  await_value(l, finding, address, access_bytes(key));
}

// The earlier access is of this block and phase, by another thread, and one of the two writes.
static __attribute__((noinline)) void conflict(struct look *l, const struct note *before, uint32_t key,
                                               uint64_t address, enum space space) {
  if (ordered_in_warp(l, before) || order_knows(l, before))
    return;
  bool one_warp = before->thread / WARP == (unsigned)l->thread / WARP;
  report(l, one_warp ? FIND_RACE_WARP : FIND_RACE_BLOCK, before, key, address, space);
}

// The earlier access is another block's of the same launch.
static __attribute__((noinline)) void conflict_of_blocks(struct look *l, const struct note *before, uint32_t key,
                                                         uint64_t address, enum space space) {
  if (!order_knows(l, before))
    report(l, FIND_RACE_GRID, before, key, address, space);
}

void race_barrier_was_needed(struct look *l) {
  if (l->barrier && l->needed_phase < l->phase - 1)
    l->barrier->needed++;
  l->needed_phase = l->phase - 1;
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
  unsigned count;
  memory_space(l, address, &memory, &offset);
  const struct note *write = &memory_cells(memory, offset, 1, &count)->write;
  return write->run == l->run && write->thread != thread && !is_atomic(write->key);
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
                "%s: thread %d of block %u", what, early->thread, l->run - l->launch->first_run);
  }
  l->early_count = 0;
}

// ---- the next access -----------------------------------------------------------------------------------------------------------

static inline bool of_launch(const struct look *l, const struct note *note) {
  return note->run >= l->launch->first_run && note->run < l->launch->end_run;
}

// `before` is an access of this launch's; the two conflict unless something orders them.
static inline void pair(struct look *l, const struct note *before, uint32_t key, uint64_t address, enum space space) {
  if (is_atomic(before->key) && is_atomic(key))
    return;
  if (before->run == l->run) {
    if (before->thread == l->thread)
      return;
    if (before->phase == l->phase)
      conflict(l, before, key, address, space);
    else
      needs_barrier(l, before->phase);
  } else if ((space == SPACE_GLOBAL || space == SPACE_VARIABLE) && of_launch(l, before)) {
    conflict_of_blocks(l, before, key, address, space);
  }
}

// `read` is the reader of this phase, `other` one of another thread, of another warp if there was one.
static inline void note_read(struct look *l, struct cell *cell, const struct note *now) {
  bool here = cell->read.run == l->run && cell->read.phase == l->phase;
  if (!here) {
    if (cell->read.run && cell->read.run != l->run && of_launch(l, &cell->read))
      cell->other = cell->read; // another block's: kept beside
    cell->read = *now;
  } else if (cell->read.thread == now->thread) {
    cell->read = *now;
  } else if (cell->other.run != l->run || cell->other.phase != l->phase ||
             cell->other.thread / WARP == cell->read.thread / WARP) {
    cell->other = *now;
  }
}

// A read of a word that nobody has written since something ordered it, and that two warps have read in this phase already: the
// most frequent access of all, and nothing new.
static inline bool nothing_new(const struct look *l, const struct cell *cell) {
  const struct note *write = &cell->write, *read = &cell->read, *other = &cell->other;
  bool old = write->run < l->launch->first_run ||
             (write->run == l->run && write->phase < l->phase && write->phase <= l->needed_phase);
  return old && read->run == l->run && read->phase == l->phase && other->run == l->run && other->phase == l->phase &&
         other->thread / WARP != read->thread / WARP && read->thread != l->thread;
}

void race_check(struct look *l, struct cell *cells, unsigned count, uint32_t key, uint64_t address, enum space space) {
  if (count == 1 && is_read(key) && nothing_new(l, cells) && (space == SPACE_GLOBAL || cells->write.run == l->run))
    return;
  struct note now = {l->run, key, l->phase, (uint16_t)l->thread, l->epoch[l->thread]};
  bool shared = space == SPACE_SHARED || space == SPACE_DYNAMIC, reads = is_read(key), written = false;
  for (unsigned i = 0; i < count; i++) {
    struct cell *cell = &cells[i];
    if (cell->write.run)
      pair(l, &cell->write, key, address, space);
    written |= cell->write.run == l->run;
    if (reads) {
      note_read(l, cell, &now);
      continue;
    }
    if (cell->read.run)
      pair(l, &cell->read, key, address, space);
    if (cell->other.run)
      pair(l, &cell->other, key, address, space);
  }
  if (shared && (reads || is_atomic(key)) && !written)
    early_read(l, key, address, space);
  if (!reads)
    for (unsigned i = 0; i < count; i++)
      cells[i].write = now;
  if (is_atomic(key))
    order_atomic(l, address);
}
