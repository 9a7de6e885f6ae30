// SPDX-License-Identifier: MIT
// __syncthreads() and those of its kind that take votes: as a thread comes to them, and as all have.
#include "sim/engine/block_internal.h"
#include "cudasim_split.h"
#include "sim/base/plugin.h"
#include "sim/base/config.h"
#include "sim/engine/store_buffer.h"

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
void cudasim_passed(const char *file, int line, int votes) {
  struct sim_executor *e = sim_executor;
  if (e->inspected)
    sim_inspector->barrier_opens(file, line, votes);
  e->passed_file = file;
  e->passed_line = line;
  sim_set(&e->phase, sim_get(&e->phase) + 1);
}

// ---- all have come ----

// A thread waits for one that is elsewhere, or has returned.
static void notify_divergent(struct sim_executor *e, int first, int other, bool of_warp) {
  bool waits = e->state[other] == SIM_AT_BARRIER || e->state[other] == SIM_AT_WARP;
  if (e->inspected)
    sim_inspector->divergent(first, e->waiter[first].file, e->waiter[first].line, other,
                             waits ? e->waiter[other].file : NULL, waits ? e->waiter[other].line : 0, of_warp);
}

void sim_notify_deadlock(struct sim_executor *e) {
  int first = 0;
  while (e->state[first] != SIM_AT_WARP)
    first++;
  const int warp = first / SIM_WARP_THREADS * SIM_WARP_THREADS;
  for (int t = warp; t < warp + SIM_WARP_THREADS && t < (int)e->threads; t++)
    if (!sim_threads_alike(e, (unsigned int)first, (unsigned int)t)) {
      notify_divergent(e, first, t, true);
      return;
    }
}

static int first_done(const struct sim_executor *e) {
  int thread = 0;
  while (e->state[thread] != SIM_DONE)
    thread++;
  return thread;
}

// Not all threads have come to the barrier that opens.
static void check_barrier(struct sim_executor *e) {
  const int first = e->barrier_first;
  for (unsigned int t = 0; t < e->threads && e->differs; t++) {
    if (e->state[t] != SIM_AT_BARRIER ||
        (e->waiter[t].line == e->waiter[first].line && e->waiter[t].file == e->waiter[first].file))
      continue;
    sim_report(e, "divergent __syncthreads(): threads of one block wait at different barriers");
    sim_report_threads(e);
    notify_divergent(e, first, (int)t, false);
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  if (e->done > 0 && sim_config_is_program()) {
    sim_warn_returned(e);
  } else if (e->done > 0) {
    sim_report(e, "divergent __syncthreads(): threads of the block have returned without coming to it");
    sim_report_threads(e);
    notify_divergent(e, first, first_done(e), false);
    sim_give_up(e, cudaErrorIllegalAddress);
  }
}

void sim_open_barrier(struct sim_executor *e) {
  if (e->differs || e->done > 0)
    check_barrier(e);
  if (e->inspected)
    sim_inspector->barrier_opens(e->waiter[e->barrier_first].file, e->waiter[e->barrier_first].line, e->voted);
  e->voted = false;
  if (e->launch->judged)
    sim_store_buffer_barrier();
  for (unsigned int t = 0; t < e->threads; t++)
    e->state[t] = e->state[t] == SIM_AT_BARRIER ? SIM_READY : e->state[t];
  e->at_barrier = 0;
  e->cursor = 0;
  sim_set(&e->phase, sim_get(&e->phase) + 1);
  for (int vote = 0; vote < CUDASIM_VOTES; vote++)
    e->votes[vote][sim_get(&e->phase) & 1] = vote == CUDASIM_VOTE_AND;
}
