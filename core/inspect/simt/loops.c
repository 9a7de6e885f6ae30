// What a kernel tells that runs as loops over its block's threads (cudasim_split.h): whose turn it is. Of what is done between two turns
// nothing is kept: no thread does it on a GPU, or all do, and it touches no memory.
#include "inspect/simt/loops.h"

#include "inspect/shadow/access.h"
#include "inspect/runtime/look.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"
#include "sim/base/plugin.h"

#include "cudasim_split.h"

void loops_rest(struct look *l) {
  lane_leave(l);
  l->rests = true;
  inspect_tail = (struct tail){NULL, NULL, 0};
}

void loops_wake(struct look *l) {
  if (l->rests) {
    l->rests = false;
    lane_enter(l, l->lane);
  }
}

// What the first thread has done up to here is to ask for the loops.
int cudasim_inspect_run_as_loop(unsigned int origin) {
  struct look *l = inspect_now;
  if (!sim_loops_begin(origin))
    return false;
  if (l == NULL) // a block that is left alone
    return true;
  inspect_tail.key = l->path;
  l->loops = true;
  loops_rest(l);
  l->warp = -1;
  return true;
}

static __attribute__((noinline)) void change_warp(struct look *l, int thread) {
  loops_wake(l);
  look_changes_thread(l, thread);
}

void cudasim_inspect_runs(int thread, unsigned int x, unsigned int y, unsigned int z) {
  struct look *l = inspect_now;
  const uint32_t key = program_place(__builtin_return_address(0)) << KIND_BITS | EVENT_BEGIN;
  const unsigned number = (unsigned)thread;
  cudasim_thread_now = (struct uint3){x, y, z};
  if (l == NULL)
    return;
  if (number / WARP != (unsigned)l->warp || l->pending) {
    change_warp(l, thread);
  } else {
    l->rests = false;
    l->thread = thread;
    lane_enter(l, &l->lanes[number % WARP]);
    race_thread_runs(l);
  }
  if (access_is_slow() || *inspect_tail.key != key)
    lane_event(l, key);
  else
    inspect_tail.key++;
}

void cudasim_inspect_rests(void) {
  if (inspect_now)
    loops_rest(inspect_now);
}

void cudasim_inspect_met(int first, int lanes) {
  if (inspect_now)
    look_met(inspect_now, first / WARP, lanes < WARP ? (1u << lanes) - 1 : ~0u);
}
