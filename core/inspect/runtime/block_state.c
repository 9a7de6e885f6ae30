// SPDX-License-Identifier: MIT
// What the simulator reports: launches and blocks begin and end, threads run and wait, memory is allocated and
// copied. One block is instrumented at a time; uninstrumented blocks run at the same time.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inspect/runtime/block_faults.h"
#include "inspect/runtime/async.h"
#include "inspect/runtime/launches.h"
#include "inspect/shadow/vector_clock.h"
#include "inspect/simt/counts.h"
#include "inspect/shadow/host.h"
#include "inspect/runtime/kernels.h"
#include "inspect/runtime/lane.h"
#include "inspect/runtime/block_state.h"
#include "inspect/runtime/loops.h"
#include "inspect/shadow/memory.h"
#include "inspect/mix.h"
#include "inspect/shadow/sync.h"
#include "inspect/shadow/launch_history.h"
#include "inspect/program.h"
#include "inspect/shadow/race.h"
#include "inspect/simt/simt_stack.h"
#include "inspect/step/step.h"
#include "sim/base/cudasim.h"
#include "sim/engine/fiber.h"
#include "sim/base/plugin.h"

#include "cudasim_launch.h"

static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; // `dies` asks whether this thread holds it

static atomic_uint waiting; // threads that wait for the lock

void inspect_hold(void) {
  atomic_fetch_add(&waiting, 1);
  pthread_mutex_lock(&lock);
  atomic_fetch_sub(&waiting, 1);
}
void inspect_release(void) {
  pthread_mutex_unlock(&lock);
}

// ---- blocks --------------------------------------------------------------------------------------------------------------------

// Called with the lock held: shadow memory is allocated from one pool.
static struct block_state *own_block_state(void) {
  static __thread struct block_state *own;
  if (own)
    return own;
  own = inspect_allocate_aligned(_Alignof(struct block_state), sizeof *own);
  own->sim_state = (uintptr_t)sim_block_state(&own->sim_state_bytes);
  own->shared = program_shared();
  own->shared_bytes = program_shared_bytes();
  own->shared_memory = memory_new(program_shared_bytes(), true);
  own->shared_words = own->shared_memory->words;
  own->shared_states = own->shared_memory->shadow_states;
  own->dynamic_memory = memory_new(SIM_MAX_SHARED, true);
  return own;
}

static bool block_begin(void *data, unsigned int index, char *dynamic) {
  struct launch *launch = data;
  if (!launch_wants(launch, index))
    return false;
  inspect_hold();
  if (!launch_begins_block(launch)) {
    inspect_release();
    return false;
  }
  struct block_state *bs = own_block_state();
  bs->launch = launch;
  bs->instance = launch->first_instance + index;
  bs->phase = 1;
  bs->needed_phase = 0;
  bs->barrier = NULL;
  bs->thread = 0;
  bs->known_shared = launch->kernel->known_shared;
  bs->warp = -1;
  bs->dynamic = dynamic;
  bs->dynamic_bytes = launch->dynamic_bytes;
  bs->skip_next = bs->pending = bs->loops = bs->idle = false;
  bs->equal.finding = NULL;
  lanes_begin(bs, launch->kernel);
  lane_enter(bs, &bs->lanes[0]);
  const unsigned warps = (launch->threads + WARP - 1) / WARP;
  memset(bs->depth, 0, warps * sizeof bs->depth[0]);
  memset(bs->last_block, 0, warps * sizeof bs->last_block[0]);
  memset(bs->live, 0, sizeof bs->live);
  for (unsigned i = 0; i < launch->threads; i++)
    bs->live[i / WARP] |= 1u << i % WARP;
  memcpy(bs->converged, bs->live, sizeof bs->converged);
  race_begin_phase(bs);
  bs->block_interval = bs->interval;
  bs->needed_interval = bs->interval - 1;
  sync_begin_block(bs);
  bs->has_async = false;
  counts_begin_block(launch);
  inspect_current = bs;
  if (step_mode) {
    step_block_begin(bs);
    inspect_pend(bs);
  }
  return true;
}

static void end_phase(struct block_state *bs) {
  loops_resume(bs);
  if (bs->equal.finding)
    race_resolve_equal(bs);
  lane_flush(bs);
  race_resolve_early(bs);
}

static void block_end(void) {
  struct block_state *bs = inspect_current;
  end_phase(bs);
  if (step_mode)
    step_block_end();
  inspect_current = NULL;
  inspect_tail = (struct tail){NULL, NULL, 0};
  counts_end_block();
  launch_ends_block(bs->launch);
  inspect_release();
}

__attribute__((noinline)) void block_state_switch_thread(struct block_state *bs, int thread) {
  if (bs->equal.finding)
    race_resolve_equal(bs);
  const bool flushes = thread / WARP != bs->warp;
  if (flushes)
    lane_flush(bs);
  else
    lane_leave(bs);
  bs->idle = false;
  bs->warp = thread / WARP;
  bs->thread = thread;
  lane_enter(bs, &bs->lanes[thread % WARP]);
  if (flushes) // no lane has an event yet
    bs->longest = bs->trace;
  race_thread_runs(bs);
}

// Usually another lane of the same warp.
static void thread_runs(int thread) {
  struct block_state *bs = inspect_current;
  const unsigned number = (unsigned)thread;
  if (number / WARP != (unsigned)bs->warp || bs->pending) {
    bs->loops = false; // a block that cannot run as loops has no warp yet
    block_state_switch_thread(bs, thread);
    return;
  }
  lane_leave(bs);
  bs->thread = thread;
  lane_enter(bs, &bs->lanes[number % WARP]);
  race_thread_runs(bs);
}

#ifdef SIM_FIBERS_SWAP
static __attribute__((noinline)) void resume_slowly(int thread, void **save, void *load) {
  block_state_switch_thread(inspect_current, thread);
  sim_fiber_swap(save, load);
}

// Ends in one call or the other, so that only the registers of the suspended thread are saved on the stack.
static void thread_goes_on(int thread, void **save, void *load) {
  struct block_state *bs = inspect_current;
  const unsigned number = (unsigned)thread;
  if (number / WARP != (unsigned)bs->warp || bs->pending) {
    resume_slowly(thread, save, load);
    return;
  }
  struct lane *const lane = (struct lane *)((char *)bs->lanes + number % WARP * sizeof *lane);
  lane_leave(bs);
  bs->thread = thread;
  bs->lane = lane;
  bs->longest = NULL;
  inspect_tail = lane->tail;
  race_thread_runs(bs);
  sim_fiber_swap(save, load);
}
#else
#define thread_goes_on NULL
#endif

static void synchronizes(const void *object, bool releases) {
  sync_object(inspect_current, (uint64_t)(uintptr_t)object, releases);
}

static void thread_done(int thread) {
  async_end_thread();
  if (step_is_on())
    step_thread_done(thread);
  inspect_current->live[thread / WARP] &= ~(1u << thread % WARP);
}

static void barrier_opens(const char *file, int line, bool votes) {
  struct block_state *bs = inspect_current;
  const bool idle = bs->idle;
  end_phase(bs);
  bs->barrier = kernel_barrier_at(bs->launch->kernel, file, line);
  bs->barrier->passes++;
  bs->barrier->needed += votes;
  bs->phase++;
  race_begin_phase(bs);
  if (step_is_on())
    step_barrier_opens(line);
  if (idle)
    loops_suspend(bs);
}

void block_state_warp_synced(struct block_state *bs, int warp, unsigned int lanes) {
  vector_clock_sync(bs, (unsigned)warp, lanes);
  race_thread_runs(bs);
}

static void warp_met(int warp, unsigned int lanes) {
  block_state_warp_synced(inspect_current, warp, lanes);
}

static void fence(bool of_block) {
  sync_fence(inspect_current, of_block);
}

static void grid_barrier(unsigned int number, bool arrives) {
  sync_grid_barrier(inspect_current, number, arrives);
}

static void pause_block(bool begins) {
  if (begins) {
    struct timespec moment = {0, 20000};
    memory_paused_blocks++;
    inspect_release();
    if (atomic_load(&waiting)) // without it this thread would take the lock again before another wakes up
      nanosleep(&moment, NULL);
  } else {
    inspect_hold();
    memory_paused_blocks--;
  }
}

// ---- memory --------------------------------------------------------------------------------------------------------------------

static void allocated(void *address, size_t bytes, const void *caller) {
  inspect_hold();
  memory_allocated(address, bytes, OF_DEVICE, caller);
  inspect_release();
}

static void host_allocated(void *address, size_t bytes, bool managed, const void *caller) {
  inspect_hold();
  memory_allocated(address, bytes, managed ? MANAGED : PINNED, caller);
  inspect_release();
}

static void freed(void *address) {
  inspect_hold();
  memory_freed(address);
  inspect_release();
}

static void given_back(void *address) {
  inspect_hold();
  memory_given_back(address);
  inspect_release();
}

static void reset(int device) {
  inspect_hold();
  memory_reset(device);
  inspect_release();
}

// Of a copy, fill or library function. Host memory is left out.
static void transfer(const struct sim_region *region, bool writes) {
  const uint64_t address = (uint64_t)(uintptr_t)region->address;
  size_t offset;
  if (memory_has(address) || program_is_constant(address, &offset))
    history_transfer(
        (struct range_access){*region, program_pc_if(sim_running_caller()), sim_running_library(), writes, false});
}

// The stream orders the release; accesses in other streams are not ordered before it.
static void freed_in_stream(void *address) {
  inspect_hold();
  const struct allocation *a = memory_allocation((uint64_t)(uintptr_t)address);
  if (a && !a->freed)
    history_transfer((struct range_access){sim_bytes(address, a->bytes), program_pc_if(sim_running_caller()),
                                           "cudaFreeAsync", true, true});
  inspect_release();
}

static void wrote(const struct sim_region *region) {
  inspect_hold();
  transfer(region, true);
  memory_wrote(region);
  inspect_release();
}

static void was_read(const struct sim_region *region) {
  inspect_hold();
  transfer(region, false);
  inspect_release();
}

static void copied(const struct sim_region *to, const struct sim_region *from) {
  inspect_hold();
  transfer(to, true);
  transfer(from, false);
  memory_copied(to, from);
  inspect_release();
}

static void refused(const struct cudasim_launch_request *request, int position, const void *caller) {
  if (!request->inspected)
    return;
  inspect_hold();
  const struct cudasim_pointer_argument *argument = &request->pointers[position];
  const struct allocation *a = memory_allocation((uint64_t)(uintptr_t)argument->value);
  struct kernel *k = kernel_of(request);
  if (a)
    finding_add(FIND_FREED, k, (struct location){.first = program_pc(caller), .third = a->pc},
                "argument %d of the launch: memory of %zu bytes", argument->position + 1, a->bytes);
  else
    finding_add(FIND_ARGUMENT, k, (struct location){.first = program_pc(caller)},
                "argument %d of the launch is a host address", argument->position + 1);
  inspect_release();
}

// ---- start and exit -----------------------------------------------------------------------------------------------------

static bool will_count(const struct cudasim_launch_request *request) {
  return request->inspected && kernel_is_wanted(request);
}

// A process that ends takes its kernels with it. Here they run to their end, so that the same is found each time.
static void exits(void) {
  if (inspect_current || !sim_vector_clock_host_is_behind())
    return;
  inspect_hold();
  finding_add(FIND_UNFINISHED, NULL, (struct location){0}, "main ended without waiting for the device");
  inspect_release();
  sim_finish_work();
}

// A program that exits in the middle of a kernel still writes its findings.
static void at_exit(void) {
  if (inspect_current == NULL)
    inspect_hold();
  inspect_write_record();
}

// The crash must end the program, whatever it has damaged: the heap, whose lock this thread may hold, or a kernel of
// another thread that never ends.
static void too_late(int number) {
  sigset_t signals;
  (void)number;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  signal(SIGSEGV, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  raise(SIGSEGV);
}

// In a signal handler. If this thread holds the lock, the findings are inconsistent and are not written.
static void dies(void) {
  enum { SECONDS = 5 };
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGALRM);
  signal(SIGALRM, too_late);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  alarm(SECONDS);
  atomic_fetch_add(&waiting, 1);
  const int taken = pthread_mutex_lock(&lock);
  atomic_fetch_sub(&waiting, 1);
  inspect_died = true;
  if (taken == 0)
    inspect_write_record();
  alarm(0);
}

static const struct sim_plugin inspector = {.launch_begin = launch_begins,
                                            .launch_end = launch_ends,
                                            .block_begin = block_begin,
                                            .block_end = block_end,
                                            .blocks_left = launch_blocks_left,
                                            .thread_runs = thread_runs,
                                            .thread_goes_on = thread_goes_on,
                                            .thread_done = thread_done,
                                            .barrier_opens = barrier_opens,
                                            .warp_met = warp_met,
                                            .fence = fence,
                                            .synchronizes = synchronizes,
                                            .async_write = async_write,
                                            .async_commit = async_commit,
                                            .async_wait = async_wait,
                                            .grid_barrier = grid_barrier,
                                            .pause = pause_block,
                                            .divergent = block_divergent,
                                            .divergent_grid = block_divergent_grid,
                                            .exits = exits,
                                            .dies = dies,
                                            .livelocked = block_livelocked,
                                            .faulted = block_faulted,
                                            .allocated = allocated,
                                            .host_allocated = host_allocated,
                                            .freed = freed,
                                            .freed_in_stream = freed_in_stream,
                                            .given_back = given_back,
                                            .reset = reset,
                                            .wrote = wrote,
                                            .was_read = was_read,
                                            .host_queued = host_queued,
                                            .copied = copied,
                                            .refused = refused};

__attribute__((constructor)) static void begin(void) {
  kernels_want(getenv("FERRY_INSPECT_KERNEL"));
  launches_read_limits();
  const char *counts = getenv("FERRY_INSPECT_COUNTS");
  inspect_counts = counts == NULL || strcmp(counts, "0") != 0;
  inspect_scored = sim_inspects_all = getenv("FERRY_INSPECT_SCORED") != NULL;
  program_read();
  step_begin();
  if (program_has_managed())
    host_begins_sharing();
  mix_read();
  sim_plugin_register(&inspector);
  sim_vector_clocks_start();
  cudasim_counts_come(will_count);
  atexit(at_exit);
}
