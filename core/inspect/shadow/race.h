// The last accesses to each word, and what is wrong about the next (race.c).
#ifndef INSPECT_RACE_H
#define INSPECT_RACE_H

#include "inspect/shadow/memory.h"

uint32_t race_now(void); // the next era
uint32_t race_new_era(uint64_t run, uint32_t phase, uint32_t epochs);
void race_forget(void); // all eras, while no block runs
struct note race_note_of(const struct mark *mark);
const char *race_verb(uint32_t key);
void race_begin_phase(struct look *l); // l->run and l->phase are new
void race_begin_era(struct look *l);   // l->clock.begin is new
void race_check(struct look *l, struct cell *cells, unsigned count, uint32_t key, uint64_t address, enum space space);
void race_copy_cell(struct cell *to, const struct cell *from);
void race_ask_again(struct cell *cell); // about the next access of the cell's word, whoever has read it in this phase
// Records that these cells will have once they need one.
struct record *race_records_for(const struct cell *cells, size_t count);
bool race_last_write(const struct cell *cell, struct note *write); // false: none, as far as anybody knows
static inline void race_thread_runs(struct look *l) {              // l->thread, or its epoch, is new
  l->who = (uint32_t)l->thread | l->clock.epoch[l->thread] << WHO_EPOCH_AT;
}
void race_barrier_was_needed(struct look *l); // the last one that the block has passed
// Reads of shared memory that nothing had written, at the end of a phase.
void race_resolve_early(struct look *l);
void race_resolve_equal(struct look *l);
// What a copy of the running thread writes has been read since this era.
void race_in_flight(struct look *l, uint64_t address, unsigned bytes, uint32_t key, uint32_t era);

#endif
