// __syncthreads() and those of its kind that take votes, as a thread comes to them.
#include "block_internal.h"
#include "cudasim_split.h"

// The block's first wait: apart, so that others save no registers for the call.
static __attribute__((noinline)) void first_barrier(const char *file, int line) {
  sim_start_tracking(sim_executor);
  cudasim_barrier(file, line);
}

void cudasim_barrier(const char *file, int line) {
  struct sim_executor *e = sim_executor;
  if (__builtin_expect(!e->tracking, 0)) {
    first_barrier(file, line);
    return;
  }
  const int thread = e->current;
  struct sim_waiter *self = &e->waiter[thread];
  self->file = file;
  self->line = line;
  e->state[thread] = SIM_AT_BARRIER;
  if (e->at_barrier++ == 0)
    e->barrier_first = thread;
  const struct sim_waiter *first = &e->waiter[e->barrier_first];
  e->differs |= first->line != line || first->file != file;
  sim_suspend(e);
}

int cudasim_barrier_vote(int predicate, enum cudasim_vote vote, const char *file, int line) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  e->voted = true;
  int *votes = &e->votes[vote][sim_get(&e->phase) & 1];
  if (vote == CUDASIM_VOTE_COUNT)
    *votes += predicate != 0;
  else if (vote == CUDASIM_VOTE_AND)
    *votes &= predicate != 0;
  else
    *votes |= predicate != 0;
  cudasim_barrier(file, line);
  return *votes;
}

// All threads of a block that runs in loops over its threads (cu2cpp --split) have come to one.
void cudasim_passed(const char *file, int line) {
  struct sim_executor *e = sim_executor;
  e->passed_file = file;
  e->passed_line = line;
  sim_set(&e->phase, sim_get(&e->phase) + 1);
}
