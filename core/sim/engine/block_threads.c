// SPDX-License-Identifier: MIT
// Scheduling the threads of a block on one operating-system thread.
//
// The threads run as plain calls, one after another, in the compiled loop of cudasim_launch.h. When the first one
// has to wait, it stays on its stack where it is, and a fiber goes on with the threads that have not begun. So a kernel
// without barriers never leaves the native stack, and a block of n threads needs at most n - 1 fibers.

// A block is given up by a long jump from a fiber's stack to the native one. With _FORTIFY_SOURCE, which some systems'
// compilers define, glibc takes a jump to another stack for a mistake and ends the program.
#undef _FORTIFY_SOURCE

#include "sim/engine/block_internal.h"

#include <limits.h>
#include <sched.h>
#include <string.h>

#include "sim/engine/grid.h"
#include "cudasim_split.h"
#include "sim/base/plugin.h"
#include "sim/engine/shared.h"
#include "sim/base/sim.h"
#include "sim/engine/store_buffer.h"

enum { POLLS_BETWEEN_SWITCHES = 1024, POLLS_UNTIL_SPREAD = 64 << 10, POLLS_UNTIL_LIVELOCK = 64 << 20 };

// ---- fibers ----

static __attribute__((noinline)) int new_fiber(struct sim_executor *e) {
  const int number = ++e->fibers;
  struct sim_fiber *fiber = e->by_number[number] = sim_fiber_new(number);
  fiber->next = e->all_fibers;
  e->all_fibers = fiber;
  e->parked[number] = fiber->stack_pointer;
  return number;
}

static inline int acquire_fiber(struct sim_executor *e) {
  return e->free_count > 0 ? e->free_fibers[--e->free_count] : new_fiber(e);
}

static inline void return_fiber(struct sim_executor *e, int number) {
  e->free_fibers[e->free_count++] = (uint16_t)number;
}

enum { GIVEN_UP = 1, RERUN_ON_FIBERS }; // why sim_run_threads goes on at its beginning

// ---- scheduling ----

static void clear_tables(struct sim_executor *e) {
  e->tracking = true;
  e->at_barrier = e->at_warp = e->done = e->cursor = 0;
  sim_set(&e->phase, 0);
  e->look_again = e->complete = e->warps_used = e->differs = e->converging = false;
  memset(e->state, SIM_UNSTARTED, e->threads);
  for (int vote = 0; vote < CUDASIM_VOTES; vote++)
    e->votes[vote][0] = vote == CUDASIM_VOTE_AND;
}

// The first wait of this block: from the loop's counter to the tables. Threads so far have run in ascending order.
void sim_start_tracking(struct sim_executor *e) {
  if (cudasim_run_as_loop == CUDASIM_LOOP_RUNS) {
    sim_report(e,
               "a thread waits where cu2cpp --split has seen nothing to wait for; FERRY_SIM_SPLIT=0 runs the kernel");
    sim_report_thread();
    sim_give_up(e, cudaErrorNotSupported);
  }
  const struct cudasim_index i = *cudasim_thread;
  clear_tables(e);
  e->current = (int)(i.x + e->shape.x * (i.y + e->shape.y * i.z));
  e->done = (unsigned int)e->current;
  e->cursor = e->done + 1;
  memset(e->state, SIM_DONE, e->done);
  e->state[e->current] = SIM_RUNNING;
}

static inline void begin_thread(struct sim_executor *e, int thread) {
  e->current = thread;
  e->state[thread] = SIM_RUNNING;
  cudasim_thread = &e->waiter[thread].index;
}

// For an instrumented kernel, which reads threadIdx itself.
static inline __attribute__((always_inline)) void show_thread(const struct sim_executor *e, int thread) {
  const struct cudasim_index *index = &e->waiter[thread].index;
  threadIdx = (struct uint3){index->x, index->y, index->z};
  if (e->inspected)
    sim_inspector->thread_runs(thread);
}

static __attribute__((noinline)) void show_thread_slow(const struct sim_executor *e, int thread) {
  show_thread(e, thread);
}

static inline void begin_and_show(struct sim_executor *e, int thread) {
  begin_thread(e, thread);
  if (__builtin_expect(e->observed, 0))
    show_thread_slow(e, thread);
}

_Noreturn void sim_give_up(struct sim_executor *e, cudaError_t error) {
  e->inside = false; // no signal handler jumps from here on
  e->critical = 0;
  e->error = error;
  if (e->running != SIM_NATIVE)
    sim_fiber_before_jump(&e->native);
  siglongjmp(e->give_up, GIVEN_UP);
}

// The thread to go on with; -1 when all have returned.
static __attribute__((noinline)) int find_thread(struct sim_executor *e) {
  for (;;) {
    while (e->cursor < e->threads) {
      int thread = e->order[e->cursor++];
      if (e->state[thread] <= SIM_READY)
        return thread;
    }
    if (e->look_again) {
      e->look_again = false;
      e->cursor = 0;
    } else if (e->converging) {
      sim_converge(e);
    } else if (e->at_barrier == 0 && e->at_warp == 0) {
      return -1;
    } else if (e->at_warp > 0) {
      sim_report(e, "deadlock: a warp function waits for lanes of its mask that will never come");
      sim_report_threads(e);
      sim_notify_deadlock(e);
      sim_give_up(e, cudaErrorIllegalAddress);
    } else {
      sim_open_barrier(e);
    }
  }
}

// The same: mostly the next one of the order.
static inline int pick_thread(struct sim_executor *e) {
  const unsigned int cursor = e->cursor;
  const int thread = e->order[cursor];
  if (cursor >= e->threads || e->state[thread] > SIM_READY)
    return find_thread(e);
  e->cursor = cursor + 1;
  return thread;
}

// Of a kernel that is judged: checks what the running thread has done up to here.
static void check_thread(struct sim_executor *e) {
  sim_store_buffer_thread_stops();
  if (sim_shared_is_broken(e))
    sim_give_up(e, cudaErrorIllegalAddress);
}

// Goes on with `thread`; the current one waits, and this returns when it goes on. Ends in the switch itself, so that nothing but
// the kernel's own frame and the saved registers is touched on either stack.
static inline __attribute__((always_inline)) void go_on_with(struct sim_executor *e, int thread, bool show) {
  struct sim_waiter *from = &e->waiter[e->current], *to = &e->waiter[thread];
  const bool begins = e->state[thread] == SIM_UNSTARTED;
  const int self = e->running;
  e->fiber[e->current] = (uint16_t)self;
  int other = e->fiber[thread];
  if (__builtin_expect(begins, 0)) {
    other = acquire_fiber(e);
    to->stack_pointer = e->parked[other];
  }
  begin_thread(e, thread);
  if (show)
    show_thread(e, thread);
  if (other == self)
    return;
  e->running = other;
#ifdef SIM_FIBERS_JUMP
  if (begins) {
    sim_fiber_start(&from->stack_pointer, e->parked[other]);
    return;
  }
#endif
  sim_fiber_switch(e->by_number[self], &from->stack_pointer, e->by_number[other], to->stack_pointer);
}

static __attribute__((noinline)) void suspend_slow(struct sim_executor *e) {
  go_on_with(e, pick_thread(e), false);
}

// The next thread of the order where it is one that waits no longer, as most are; else -1, and pick_thread finds another.
static inline int next_ready(struct sim_executor *e) {
  const unsigned int cursor = e->cursor;
  const int thread = e->order[cursor < e->threads ? cursor : 0];
  if (cursor == e->threads || e->state[thread] != SIM_READY)
    return -1;
  e->cursor = cursor + 1;
  return thread;
}

// For kernels that are judged or instrumented. Not inlined, so that others save no registers for these calls.
static __attribute__((noinline)) void suspend_observed_slow(struct sim_executor *e) {
  if (e->launch->judged)
    check_thread(e);
  const int thread = next_ready(e);
  go_on_with(e, thread < 0 ? pick_thread(e) : thread, true);
}

static __attribute__((noinline)) void show_and_go_on(struct sim_executor *e, int thread) {
  go_on_with(e, thread, true);
}

static __attribute__((noinline)) void suspend_observed(struct sim_executor *e) {
  const int thread = e->notified ? next_ready(e) : -1;
  if (thread < 0) {
    suspend_observed_slow(e);
    return;
  }
  // By the time that this one waits, the top of the next one's stack is near.
  const char *soon = e->waiter[e->order[e->cursor]].stack_pointer;
  __builtin_prefetch(soon);
  __builtin_prefetch(soon + 64);
  __builtin_prefetch(soon + 128);
#ifdef SIM_FIBERS_SWAP
  // All ends in calls that come back to the other thread, and saves no registers.
  struct sim_waiter *const from = &e->waiter[e->current], *const to = &e->waiter[thread];
  if (__builtin_expect(thread != e->current, 1)) {
    e->fiber[e->current] = (uint16_t)e->running;
    e->running = e->fiber[thread];
    begin_thread(e, thread);
    threadIdx = (struct uint3){to->index.x, to->index.y, to->index.z};
    sim_inspector->thread_goes_on(thread, &from->stack_pointer, to->stack_pointer);
    return;
  }
#endif
  show_and_go_on(e, thread);
}

// The current thread's state says what it waits for; others run until it can go on.
void sim_suspend(struct sim_executor *e) {
  if (__builtin_expect(e->observed, 0)) {
    suspend_observed(e);
    return;
  }
  const int thread = next_ready(e);
  if (thread < 0)
    suspend_slow(e);
  else
    go_on_with(e, thread, false);
}

bool sim_thread_can_run(unsigned int thread) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  return e->state[thread] <= SIM_RUNNING;
}

void sim_let_run(unsigned int thread) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  e->state[e->current] = SIM_READY;
  e->look_again = true;
  e->cursor = thread; // in ascending order a thread's place is its number
  sim_suspend(e);
}

// Switches away from a finished fiber without saving it; its stack is reused from the top.
static inline void leave_fiber(struct sim_executor *e, int self, struct sim_fiber *other, void *stack_pointer) {
#ifdef SIM_FIBERS_JUMP
  (void)e;
  (void)self;
  (void)other;
  sim_fiber_jump(stack_pointer);
#else
  sim_fiber_switch(e->by_number[self], &e->parked[self], other, stack_pointer);
#endif
}

// The calling fiber's thread has returned. True: another thread is to begin on this fiber.
static bool next_thread(void) {
  struct sim_executor *e = sim_executor;
  if (e->launch->judged)
    check_thread(e);
  e->state[e->current] = SIM_DONE;
  e->done++;
  if (e->inspected)
    sim_inspector->thread_done(e->current);
  sim_warp_thread_done(e, e->current);
  int thread = pick_thread(e);
  if (thread >= 0 && e->state[thread] == SIM_UNSTARTED) {
    begin_and_show(e, thread);
    return true;
  }
  const int self = e->running;
  bool native = self == SIM_NATIVE;
  if (!native)
    return_fiber(e, self);
  if (thread >= 0) {
    begin_and_show(e, thread);
    e->running = e->fiber[thread];
    if (native)
      sim_fiber_switch(&e->native, &e->parked[self], e->by_number[e->running], e->waiter[thread].stack_pointer);
    else
      leave_fiber(e, self, e->by_number[e->running], e->waiter[thread].stack_pointer);
  } else if (!native) {
    e->complete = true;
    e->running = SIM_NATIVE;
    leave_fiber(e, self, &e->native, e->parked[SIM_NATIVE]);
  } else {
    return false;
  }
  return !(native && e->complete);
}

static void run_thread(const struct sim_executor *e) {
  const bool tells = e->inspected || (sim_inspects_all && e->launch->inspected);
  (tells ? e->launch->inspected : e->launch->thread)(e->launch->closure);
}

void sim_fiber_entry(void) {
  sim_fiber_landed(sim_executor->by_number[sim_executor->running]);
  for (;;) {
    run_thread(sim_executor);
    next_thread();
  }
}

// ---- polling ----

static void let_inspected_blocks_run(const struct sim_executor *e) {
  if (e->inspected) {
    sim_inspector->pause(true);
    sim_inspector->pause(false);
  }
}

// The thread waits for another, and has looked `looks` times more.
static void wait_by_polling(unsigned int looks, bool switches) {
  struct sim_executor *e = sim_executor;
  if (e == NULL || !e->inside)
    return;
  const unsigned int polls = sim_get(&e->polls) + looks;
  sim_set(&e->polls, polls);
  if (!switches && polls % POLLS_BETWEEN_SWITCHES != 0)
    return;
  if (polls >= POLLS_UNTIL_SPREAD && polls - looks < POLLS_UNTIL_SPREAD)
    sim_grid_spread();
  if (polls > POLLS_UNTIL_SPREAD)
    sched_yield();                                // for the blocks on other threads
  if (cudasim_run_as_loop == CUDASIM_LOOP_RUNS) { // one thread after another, so only other blocks can run meanwhile
    let_inspected_blocks_run(e);
    return;
  }
  sim_track(e);
  if (polls > POLLS_UNTIL_LIVELOCK) {
    sim_report(e, "livelock: a thread polls memory that no other thread of its block changes");
    sim_report_threads(e);
    if (e->inspected)
      sim_inspector->livelocked();
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  e->state[e->current] = SIM_READY;
  e->look_again = true;
  sim_store_buffer_publish(false); // it goes on where it is
  let_inspected_blocks_run(e);
  sim_suspend(e);
}

void cudasim_poll(void) {
  wait_by_polling(1, false);
}

void cudasim_pause(void) {
  wait_by_polling(64, true);
}
// ---- all threads ----

// From the first thread on by the tables: in another order, or each by itself.
static void start_tracked(struct sim_executor *e) {
  clear_tables(e);
  begin_and_show(e, pick_thread(e));
}

static void forget_fibers(struct sim_executor *e) {
  e->free_count = 0;
  for (struct sim_fiber *fiber = e->all_fibers; fiber; fiber = fiber->next) {
    sim_fiber_reset(fiber);
    e->parked[fiber->number] = fiber->stack_pointer;
    return_fiber(e, fiber->number);
  }
}

// True if the block runs as one loop, which the compiler sees whole. Indices in the grid must be ints then, and no
// plugin may observe single threads.
static bool as_loop(const struct sim_executor *e, unsigned long long *first) {
  *first = (unsigned long long)blockIdx.x * blockDim.x;
  const bool looked_at = e->inspected || (sim_inspects_all && e->launch->inspected) || e->on_fibers ||
                         (sim.config.store_buffer && e->launch->judged);
  return (sim.config.order == SIM_ASCENDING || e->ascends) && !looked_at && e->launch->threads &&
         *first + blockDim.x <= INT_MAX;
}

// True if an inspected block may run in the loops of its kernel's instrumented copy.
static bool may_loop(const struct sim_executor *e) {
  return e->inspected && sim.config.order != SIM_RANDOM && sim.config.split && !e->launch->judged && !sim.config.gpu;
}

bool sim_loops_begin(unsigned int origin) {
  if (cudasim_run_as_loop != CUDASIM_LOOP_OFFERED || origin > CUDASIM_LOOP_MAX_ORIGIN)
    return false;
  cudasim_run_as_loop = CUDASIM_LOOP_RUNS;
  sim_executor->tracking = false;
  return true;
}

// The instrumented loops cannot run this block, which has done nothing yet: it starts again on fibers. The inspector
// forgets what it was notified of.
void cudasim_inspect_on_fibers(void) {
  cudasim_run_as_loop = CUDASIM_LOOP_NO;
  if (sim_executor->inspected)
    siglongjmp(sim_executor->give_up, RERUN_ON_FIBERS);
}

int cudasim_inspect_backwards(void) {
  return sim.config.order == SIM_DESCENDING;
}

// True: the kernel had loops, and they have run the whole block.
static bool run_first_thread(struct sim_executor *e, bool loops) {
  start_tracked(e);
  cudasim_run_as_loop = loops ? CUDASIM_LOOP_OFFERED : CUDASIM_LOOP_NO;
  run_thread(e);
  const bool done = cudasim_run_as_loop == CUDASIM_LOOP_DONE;
  cudasim_run_as_loop = CUDASIM_LOOP_NO;
  return done;
}

static void run_threads(struct sim_executor *e, bool may_have_loops) {
  unsigned long long first;
  if (as_loop(e, &first)) {
    cudasim_run_as_loop = sim.config.split ? CUDASIM_LOOP_OFFERED : CUDASIM_LOOP_NO;
    e->launch->threads(e->launch->closure, (int)first, (int)(first + blockDim.x));
    e->ran_as_loop = cudasim_run_as_loop == CUDASIM_LOOP_DONE;
    cudasim_run_as_loop = CUDASIM_LOOP_NO;
    if (!e->tracking)
      return;
  } else if (run_first_thread(e, may_have_loops && may_loop(e))) {
    e->ran_as_loop = true;
    return;
  }
  while (next_thread())
    run_thread(e);
}

// `inside` only while this function's frame is there, to which sim_give_up jumps.
void sim_run_threads(struct sim_executor *e) {
  switch (sigsetjmp(e->give_up, 0)) {
  case 0:
    e->inside = true;
    run_threads(e, true);
    break;
  case RERUN_ON_FIBERS:
    run_threads(e, false);
    break;
  case GIVEN_UP:
    if (e->running != SIM_NATIVE)
      sim_fiber_landed(&e->native);
    forget_fibers(e);
    break;
  }
  e->inside = false;
}
