// What a word of memory remembers beyond its cell, and the accesses that have nothing to say there; the others are race.c's.
#ifndef INSPECT_WORD_H
#define INSPECT_WORD_H

#include "inspect/shadow/memory.h"
#include "inspect/shadow/race.h"

// ---- eras ------------------------------------------------------------------------------------------------------------------------

struct era {
  uint64_t run;
  uint32_t phase, epochs; // epochs: the first that a mark of this era may have
};
extern struct era *race_eras; // of the launches that run, from the one numbered `race_eras_begin` on
extern uint32_t race_eras_begin;

static inline const struct era *era_of(const struct mark *mark) {
  return &race_eras[mark->era - race_eras_begin];
}

static inline unsigned thread_of(const struct mark *mark) {
  return mark->who & WHO_THREAD;
}

// ---- records ---------------------------------------------------------------------------------------------------------------------

struct record {
  struct mark write, read, other; // other: read by another thread than `read`, in the same phase
};
enum { RECORDS = 4096 };

extern struct record **race_records; // in pieces of RECORDS; number 0 is none's

static inline struct record *record_at(uint32_t number) {
  return &race_records[number / RECORDS][number % RECORDS];
}

// The cell's record, which takes what it has remembered so far.
struct record *race_open_record(struct cell *cell);

// ---- the next access -------------------------------------------------------------------------------------------------------------

static inline bool of_launch(const struct look *l, const struct era *era) {
  return era->run >= l->launch->first_run && era->run < l->launch->end_run;
}

// Of this block, since its last barrier.
static inline bool is_of_phase(const struct look *l, const struct mark *mark) {
  return mark->era == l->era || (mark->era >= l->phase_era && era_of(mark)->run == l->run);
}

// `read` is the reader of this phase, `other` one of another thread, of another warp if there was one, or of another block or launch.
static inline void note_read(const struct look *l, struct record *r, const struct mark *now) {
  if (!is_of_phase(l, &r->read)) {
    if (r->read.era >= l->first_era && era_of(&r->read)->run != l->run)
      r->other = r->read; // kept beside
    r->read = *now;
  } else if (thread_of(&r->read) == thread_of(now)) {
    r->read = *now;
  } else if (!is_of_phase(l, &r->other) || ((r->other.who ^ r->read.who) & WHO_WARP) == 0) {
    r->other = *now;
  }
}

// Of shared memory, in a new phase: who has read it in an earlier one is kept where no barrier since has a reason yet. This thread may
// be about to write.
static inline void read_anew(const struct look *l, struct record *r, const struct mark *now) {
  if (r->read.era > l->needed_era && thread_of(&r->read) != thread_of(now))
    r->other = r->read;
  r->read = *now;
}

// A read of a word that nobody has written since something ordered it, and that two warps have read in this phase already, is
// nothing new; nor is it where two lanes of this warp have, since they last met. Those are the most frequent accesses of all.
static inline void settle_reads(const struct look *l, struct cell *cell, const struct record *r) {
  cell->last.era = 0;
  if (!is_of_phase(l, &r->read) || !is_of_phase(l, &r->other))
    return;
  const bool warps = (r->read.who ^ r->other.who) & WHO_WARP;
  const bool together = r->read.era == l->era && r->other.era == l->era &&
                        (((r->read.who ^ r->other.who) | (r->read.who ^ l->who)) & (WHO_WARP | WHO_EPOCH)) == 0;
  if (warps)
    cell->last = (struct mark){l->era, KEY_ANYONE, 0};
  else if (together && r->read.who != r->other.who)
    cell->last = (struct mark){l->era, r->read.key, r->read.who | WHO_HAS_OTHER};
}

// Of shared memory: is what was done there this thread's own, or ordered by a barrier? That barrier has a reason.
static inline bool is_ordered(struct look *l, const struct mark *mark) {
  if (mark->era <= l->needed_era)
    return true;
  if (mark->era >= l->phase_era)
    return false;
  if (thread_of(mark) != (unsigned)l->thread)
    race_barrier_was_needed(l);
  return true;
}

// What race.c's check_cell comes to where no two accesses can meet: in shared memory behind a barrier, in global memory that the
// launch has not written. Shared memory has marks of blocks of this thread alone, one after another.
static inline bool is_known(struct look *l, struct cell *cell, const struct mark *now, enum space space) {
  struct record *r;
  if (cell->more == 0 && (space != SPACE_GLOBAL || !is_read(now->key) || !is_read(cell->last.key)))
    return false;
  r = cell->more ? record_at(cell->more) : race_open_record(cell);
  if (space == SPACE_GLOBAL ? r->write.era >= l->first_era : !is_ordered(l, &r->write))
    return false;
  if (is_read(now->key)) {
    if (space != SPACE_GLOBAL && r->write.era < l->block_era)
      return false;
    if (space != SPACE_GLOBAL && r->read.era < l->phase_era)
      read_anew(l, r, now); // other blocks' are none's business there
    else
      note_read(l, r, now);
    if (space == SPACE_GLOBAL || r->write.era <= l->needed_era)
      settle_reads(l, cell, r);
    else // this thread's own
      cell->last.era = 0;
    return true;
  }
  if (space == SPACE_GLOBAL || !is_ordered(l, &r->read) || !is_ordered(l, &r->other))
    return false;
  r->write = *now;
  cell->last.era = 0;
  return true;
}

static inline bool are_known(struct look *l, struct cell *cells, unsigned count, uint32_t key, enum space space) {
  const struct mark now = {l->era, key, l->who};
  for (unsigned i = 0; i < count; i++)
    if (!is_known(l, &cells[i], &now, space))
      return false;
  return true;
}

#endif
