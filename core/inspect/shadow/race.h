// SPDX-License-Identifier: MIT
// Data races: the last accesses to each word, checked against the next one (race.c).
#ifndef INSPECT_RACE_H
#define INSPECT_RACE_H

#include "inspect/shadow/memory.h"

uint64_t race_new_instances(uint64_t count); // numbers for so many block instances, copies, ...; the first one
uint32_t race_now(void);                     // the next interval
uint32_t race_new_interval(uint64_t instance, uint32_t phase, uint32_t first_clock);
void race_forget(void); // drops all intervals, while no block runs
struct access race_access_of(const struct epoch *epoch);
const char *race_verb(uint32_t event);
void race_begin_phase(struct block_state *bs);    // bs->instance and bs->phase are new
void race_begin_interval(struct block_state *bs); // bs->clock.begin is new
void race_check(struct block_state *bs, struct shadow_word *words, unsigned count, uint32_t event, uint64_t address,
                enum space space);
void race_copy_shadow_word(struct shadow_word *to, const struct shadow_word *from);
void race_recheck_next(
    struct shadow_word *word); // checks the next access to the word in full, even if its reads are covered
// Reserves a shadow state for each of these words.
struct shadow_state *race_shadow_states_for(const struct shadow_word *words, size_t count);
bool race_last_write(const struct shadow_word *word, struct access *write); // false: none is known
static inline void race_thread_runs(struct block_state *bs) {               // bs->thread, or its warp clock, is new
  bs->accessor = (uint32_t)bs->thread | bs->clock.warp_clock[bs->thread] << ACCESSOR_CLOCK_AT;
}
void race_barrier_was_needed(struct block_state *bs); // the last one that the block has passed
// Reads of uninitialized shared memory, at the end of a phase.
void race_resolve_early(struct block_state *bs);
// The write may not have happened yet: of `*to = *from`, the read's event comes after the write's.
bool race_awaits_value(const struct block_state *bs, uint32_t event);
void race_resolve_equal(struct block_state *bs);
// The running thread's asynchronous copy writes this. Reports reads of it since the interval.
void race_in_flight(struct block_state *bs, uint64_t address, unsigned bytes, uint32_t event, uint32_t interval);

#endif
