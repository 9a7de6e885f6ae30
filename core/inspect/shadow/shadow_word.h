// SPDX-License-Identifier: MIT
// Shadow states of words, and the accesses that need no further check (FastTrack's same-epoch rules); the others are
// race.c's.
#ifndef INSPECT_SHADOW_WORD_H
#define INSPECT_SHADOW_WORD_H

#include "inspect/shadow/memory.h"
#include "inspect/shadow/race.h"

// ---- intervals ------------------------------------------------------------------------------------------------------------------------

struct interval {
  uint64_t instance;
  uint32_t phase, first_clock; // first_clock: the smallest warp clock of the interval
};
extern struct interval *race_intervals; // of the running launches, from the one numbered `race_intervals_begin` on
extern uint32_t race_intervals_begin;

static inline const struct interval *interval_of(const struct epoch *epoch) {
  return &race_intervals[epoch->interval - race_intervals_begin];
}

static inline unsigned thread_of(const struct epoch *epoch) {
  return epoch->accessor & ACCESSOR_THREAD;
}

// ---- shadow states ---------------------------------------------------------------------------------------------------------

struct shadow_state {
  struct epoch write, read, other; // other: a read by another thread than `read`, in the same phase
  struct epoch plain;              // the last plain write, if `write` is an atomic
};
enum { STATES_PER_CHUNK = 4096 };

extern struct shadow_state **race_shadow_states; // in chunks of STATES_PER_CHUNK; number 0 is unused

static inline struct shadow_state *shadow_state_at(uint32_t number) {
  return &race_shadow_states[number / STATES_PER_CHUNK][number % STATES_PER_CHUNK];
}

// The word's shadow state, created from its last access if it had none.
struct shadow_state *race_inflate(struct shadow_word *word);

// ---- the next access -------------------------------------------------------------------------------------------------------------

static inline bool of_launch(const struct block_state *bs, const struct interval *interval) {
  return interval->instance >= bs->launch->first_instance && interval->instance < bs->launch->end_instance;
}

// By this block, since its last barrier.
static inline bool is_of_phase(const struct block_state *bs, const struct epoch *epoch) {
  return epoch->interval == bs->interval ||
         (epoch->interval >= bs->phase_interval && interval_of(epoch)->instance == bs->instance);
}

// Records a read. `read` is a reader of this phase; `other` is a reader in another thread, preferably of another
// warp, or of another block or launch.
static inline void record_read(const struct block_state *bs, struct shadow_state *r, const struct epoch *now) {
  if (!is_of_phase(bs, &r->read)) {
    if (r->read.interval >= bs->first_interval && interval_of(&r->read)->instance != bs->instance)
      r->other = r->read; // kept as `other`
    r->read = *now;
  } else if (thread_of(&r->read) == thread_of(now)) {
    r->read = *now;
  } else if (!is_of_phase(bs, &r->other) || ((r->other.accessor ^ r->read.accessor) & ACCESSOR_WARP) == 0) {
    r->other = *now;
  }
}

// Records the first read of shared memory in a phase. The reader of an earlier phase is kept if no barrier since is
// known to be needed: the running thread may write the word next.
static inline void record_read_of_phase(const struct block_state *bs, struct shadow_state *r, const struct epoch *now) {
  if (r->read.interval > bs->needed_interval && thread_of(&r->read) != thread_of(now))
    r->other = r->read;
  r->read = *now;
}

// Marks further reads of the word as covered, if its last write is ordered before them and two warps have read it in
// this phase (READ_SHARED), or two lanes of this warp since they last synchronized. Such reads are the most frequent
// accesses of all.
static inline void summarize_reads(const struct block_state *bs, struct shadow_word *word,
                                   const struct shadow_state *r) {
  word->last.interval = 0;
  if (!is_of_phase(bs, &r->read) || !is_of_phase(bs, &r->other))
    return;
  const bool warps = (r->read.accessor ^ r->other.accessor) & ACCESSOR_WARP;
  const bool together = r->read.interval == bs->interval && r->other.interval == bs->interval &&
                        (((r->read.accessor ^ r->other.accessor) | (r->read.accessor ^ bs->accessor)) &
                         (ACCESSOR_WARP | ACCESSOR_CLOCK)) == 0;
  if (warps)
    word->last = (struct epoch){bs->interval, READ_SHARED, 0};
  else if (together && r->read.accessor != r->other.accessor)
    word->last = (struct epoch){bs->interval, r->read.event, r->read.accessor | ACCESSOR_HAS_OTHER};
}

// Shared memory: is the access this thread's own, or ordered by a barrier? Then that barrier is needed.
static inline bool is_ordered(struct block_state *bs, const struct epoch *epoch) {
  if (epoch->interval <= bs->needed_interval)
    return true;
  if (epoch->interval >= bs->phase_interval)
    return false;
  if (thread_of(epoch) != (unsigned)bs->thread)
    race_barrier_was_needed(bs);
  return true;
}

// Does what race.c's check_shadow_word would do, where the access cannot race: in shared memory after a barrier, in
// global memory that the launch has not written. Shared memory only has epochs of blocks that ran on this worker, one
// after another.
static inline bool is_covered(struct block_state *bs, struct shadow_word *word, const struct epoch *now,
                              enum space space) {
  struct shadow_state *r;
  if (word->inflated == 0 && (space != SPACE_GLOBAL || !is_read(now->event) || !is_read(word->last.event)))
    return false;
  r = word->inflated ? shadow_state_at(word->inflated) : race_inflate(word);
  if (space == SPACE_GLOBAL ? r->write.interval >= bs->first_interval : !is_ordered(bs, &r->write))
    return false;
  if (is_read(now->event)) {
    if (space != SPACE_GLOBAL && r->write.interval < bs->block_interval)
      return false;
    if (space != SPACE_GLOBAL && r->read.interval < bs->phase_interval)
      record_read_of_phase(bs, r, now); // epochs of other blocks do not matter there
    else
      record_read(bs, r, now);
    if (space == SPACE_GLOBAL || r->write.interval <= bs->needed_interval)
      summarize_reads(bs, word, r);
    else // this thread's own
      word->last.interval = 0;
    return true;
  }
  if (space == SPACE_GLOBAL || !is_ordered(bs, &r->read) || !is_ordered(bs, &r->other))
    return false;
  r->write = *now;
  word->last.interval = 0;
  return true;
}

static inline bool are_covered(struct block_state *bs, struct shadow_word *words, unsigned count, uint32_t event,
                               enum space space) {
  const struct epoch now = {bs->interval, event, bs->accessor};
  for (unsigned i = 0; i < count; i++)
    if (!is_covered(bs, &words[i], &now, space))
      return false;
  return true;
}

#endif
