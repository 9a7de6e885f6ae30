// SPDX-License-Identifier: MIT
// Kernels that run as loops over their block's threads (work-item loops, cudasim_split.h) report each thread's
// iteration. Code between two iterations is not recorded: no thread of a GPU executes it, or all do, and it accesses
// no memory.
#include "inspect/runtime/loops.h"

#include "inspect/runtime/access.h"
#include "inspect/runtime/block_state.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "sim/base/plugin.h"

#include "cudasim_split.h"

void loops_suspend(struct block_state *bs) {
  lane_leave(bs);
  bs->idle = true;
  inspect_tail = (struct tail){NULL, NULL, 0};
}

void loops_resume(struct block_state *bs) {
  if (bs->idle) {
    bs->idle = false;
    lane_enter(bs, bs->lane);
  }
}

// The first thread has only asked whether to run as loops.
int cudasim_inspect_run_as_loop(unsigned int origin) {
  struct block_state *bs = inspect_current;
  if (!sim_loops_begin(origin))
    return false;
  if (bs == NULL) // an uninstrumented block
    return true;
  inspect_tail.next = bs->trace;
  bs->loops = true;
  loops_suspend(bs);
  bs->warp = -1;
  return true;
}

static __attribute__((noinline)) void change_warp(struct block_state *bs, int thread) {
  loops_resume(bs);
  block_state_switch_thread(bs, thread);
}

void cudasim_inspect_runs(int thread, unsigned int x, unsigned int y, unsigned int z) {
  struct block_state *bs = inspect_current;
  const uint32_t event = program_pc(__builtin_return_address(0)) << KIND_BITS | EVENT_BEGIN;
  const unsigned number = (unsigned)thread;
  cudasim_thread_now = (struct uint3){x, y, z};
  if (bs == NULL)
    return;
  if (number / WARP != (unsigned)bs->warp || bs->pending) {
    change_warp(bs, thread);
  } else {
    bs->idle = false;
    bs->thread = thread;
    lane_enter(bs, &bs->lanes[number % WARP]);
    race_thread_runs(bs);
  }
  if (access_is_slow() || *inspect_tail.next != event)
    lane_event(bs, event);
  else
    inspect_tail.next++;
}

void cudasim_inspect_rests(void) {
  if (inspect_current)
    loops_suspend(inspect_current);
}

void cudasim_inspect_met(int first, int lanes) {
  if (inspect_current)
    block_state_warp_synced(inspect_current, first / WARP, lanes < WARP ? (1u << lanes) - 1 : ~0u);
}
