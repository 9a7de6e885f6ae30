// What the simulator tells: which launches and blocks begin, which of them are looked at, who runs, who waits. One block is looked
// at at a time; those that are not run beside it as ever.
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inspect/shadow/async.h"
#include "inspect/shadow/clock.h"
#include "inspect/simt/counts.h"
#include "inspect/runtime/host.h"
#include "inspect/runtime/kernels.h"
#include "inspect/simt/lane.h"
#include "inspect/runtime/look.h"
#include "inspect/simt/loops.h"
#include "inspect/shadow/memory.h"
#include "inspect/runtime/mix.h"
#include "inspect/shadow/order.h"
#include "inspect/shadow/past.h"
#include "inspect/runtime/program.h"
#include "inspect/shadow/race.h"
#include "inspect/simt/replay.h"
#include "sim/base/cudasim.h"
#include "sim/engine/fiber.h"
#include "sim/base/plugin.h"

#include "cudasim_launch.h"

static pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP; // `dies` asks whether this thread has it

static atomic_uint waiting; // for the lock

void inspect_hold(void) {
  atomic_fetch_add(&waiting, 1);
  pthread_mutex_lock(&lock);
  atomic_fetch_sub(&waiting, 1);
}
void inspect_release(void) {
  pthread_mutex_unlock(&lock);
}

// ---- launches ------------------------------------------------------------------------------------------------------------------

static unsigned long blocks; // FERRY_INSPECT_BLOCKS: how many of each launch; 0: all
static uint64_t runs = 1;
bool inspect_scored, inspect_counts;

uint64_t look_new_run(void) {
  return runs++;
}

static void *launch_begin(const struct cudasim_launch_request *request, unsigned int count) {
  inspect_hold();
  bool looks = request->inspected && kernel_is_wanted(request);
  bool samples = looks && blocks && blocks < count && !request->cooperative; // whose blocks wait for each other
  if (!looks || samples)
    memory_assume_written();
  struct launch *launch = NULL;
  if (looks) {
    struct kernel *k = kernel_of(request);
    launch = inspect_allocate(sizeof *launch);
    *launch = (struct launch){.kernel = k, .first_run = runs, .end_run = runs + count, .end = count};
    launch->threads = request->block.x * request->block.y * request->block.z;
    launch->dynamic_bytes = request->shared_bytes;
    if (samples) {
      launch->first = (unsigned)(count - blocks) / 2;
      launch->end = launch->first + (unsigned)blocks;
    }
    runs += count;
    k->shapes_differ |= memcmp(k->grid, &request->grid, sizeof k->grid) != 0 ||
                        memcmp(k->block, &request->block, sizeof k->block) != 0 ||
                        k->dynamic_bytes != request->shared_bytes;
    k->launches++;
    k->blocks += count;
    k->looked += launch->end - launch->first;
    past_begin_launch(launch);
    counts_begin_launch(launch);
    launch->calls = inspect_calls; // for now, those before it
    launch->closure = (uintptr_t)request->closure;
    launch->closure_bytes = request->closure_bytes;
  }
  inspect_release();
  return launch;
}

static void launch_end(void *data) {
  struct launch *launch = data;
  inspect_hold();
  launch->calls = inspect_calls - launch->calls;
  memory_resolve_late(launch);
  past_end_launch();
  order_end_launch(launch);
  counts_end_launch(launch);
  free(launch->late);
  free(launch);
  inspect_release();
}

// ---- blocks --------------------------------------------------------------------------------------------------------------------

// While the lock is held: its memory's cells come out of what all have.
static struct look *own_look(void) {
  static __thread struct look *own;
  if (own)
    return own;
  own = inspect_allocate_aligned(_Alignof(struct look), sizeof *own);
  own->block_state = (uintptr_t)sim_block_state(&own->block_state_bytes);
  own->shared = program_shared();
  own->shared_bytes = program_shared_bytes();
  own->shared_memory = memory_new(program_shared_bytes(), true);
  own->shared_words = own->shared_memory->words;
  own->shared_records = own->shared_memory->records;
  own->dynamic_memory = memory_new(SIM_MAX_SHARED, true);
  return own;
}

static bool block_begin(void *data, unsigned int index, char *dynamic) {
  struct launch *launch = data;
  if (index < launch->first || index >= launch->end)
    return false;
  inspect_hold();
  struct look *l = own_look();
  l->launch = launch;
  l->run = launch->first_run + index;
  l->phase = 1;
  l->needed_phase = 0;
  l->barrier = NULL;
  l->thread = 0;
  l->known_shared = launch->kernel->known_shared;
  l->warp = -1;
  l->dynamic = dynamic;
  l->dynamic_bytes = launch->dynamic_bytes;
  l->skip_next = l->pending = l->loops = l->rests = false;
  l->equal.finding = NULL;
  lanes_begin(l, launch->kernel);
  lane_enter(l, &l->lanes[0]);
  const unsigned warps = (launch->threads + WARP - 1) / WARP;
  memset(l->depth, 0, warps * sizeof l->depth[0]);
  memset(l->last_block, 0, warps * sizeof l->last_block[0]);
  memset(l->live, 0, sizeof l->live);
  for (unsigned i = 0; i < launch->threads; i++)
    l->live[i / WARP] |= 1u << i % WARP;
  memcpy(l->together, l->live, sizeof l->together);
  race_begin_phase(l);
  l->block_era = l->era;
  l->needed_era = l->era - 1;
  order_begin_block(l);
  l->has_async = false;
  counts_begin_block(launch);
  launch->looked_calls -= inspect_calls;
  inspect_now = l;
  return true;
}

static unsigned int blocks_left(void *data, unsigned int index, unsigned int most) {
  const struct launch *launch = data;
  const unsigned int until = index < launch->first ? launch->first : index < launch->end ? index : UINT_MAX;
  return until - index < most ? until - index : most;
}

static void end_phase(struct look *l) {
  loops_wake(l);
  if (l->equal.finding)
    race_resolve_equal(l);
  lane_flush(l);
  race_resolve_early(l);
}

static void block_end(void) {
  struct look *l = inspect_now;
  inspect_now = NULL;
  end_phase(l);
  inspect_tail = (struct tail){NULL, NULL, 0};
  l->launch->looked_calls += inspect_calls;
  counts_end_block();
  inspect_release();
}

__attribute__((noinline)) void look_changes_thread(struct look *l, int thread) {
  if (l->equal.finding)
    race_resolve_equal(l);
  const bool flushes = thread / WARP != l->warp;
  if (flushes)
    lane_flush(l);
  else
    lane_leave(l);
  l->rests = false;
  l->warp = thread / WARP;
  l->thread = thread;
  lane_enter(l, &l->lanes[thread % WARP]);
  if (flushes) // no lane has gone anywhere yet
    l->furthest = l->path;
  race_thread_runs(l);
}

// Most of the time it is another lane of the same warp.
static void thread_runs(int thread) {
  struct look *l = inspect_now;
  const unsigned number = (unsigned)thread;
  if (number / WARP != (unsigned)l->warp || l->pending) {
    l->loops = false; // one whose loops cannot run it has no warp yet
    look_changes_thread(l, thread);
    return;
  }
  lane_leave(l);
  l->thread = thread;
  lane_enter(l, &l->lanes[number % WARP]);
  race_thread_runs(l);
}

#ifdef SIM_FIBERS_SWAP
static __attribute__((noinline)) void goes_on_slowly(int thread, void **save, void *load) {
  look_changes_thread(inspect_now, thread);
  sim_fiber_swap(save, load);
}

// Ends in one call or the other, so that nothing is saved on the stack but the registers of the thread that stops.
static void thread_goes_on(int thread, void **save, void *load) {
  struct look *l = inspect_now;
  const unsigned number = (unsigned)thread;
  if (number / WARP != (unsigned)l->warp || l->pending) {
    goes_on_slowly(thread, save, load);
    return;
  }
  struct lane *const lane = (struct lane *)((char *)l->lanes + number % WARP * sizeof *lane);
  lane_leave(l);
  l->thread = thread;
  l->lane = lane;
  l->furthest = NULL;
  inspect_tail = lane->tail;
  race_thread_runs(l);
  sim_fiber_swap(save, load);
}
#else
#define thread_goes_on NULL
#endif

static void synchronizes(const void *object, bool releases) {
  order_object(inspect_now, (uint64_t)(uintptr_t)object, releases);
}

static void thread_done(int thread) {
  async_end_thread();
  inspect_now->live[thread / WARP] &= ~(1u << thread % WARP);
}

static void barrier_opens(const char *file, int line, bool votes) {
  struct look *l = inspect_now;
  const bool rests = l->rests;
  end_phase(l);
  l->barrier = kernel_barrier_at(l->launch->kernel, file, line);
  l->barrier->passes++;
  l->barrier->needed += votes;
  l->phase++;
  race_begin_phase(l);
  if (rests)
    loops_rest(l);
}

void look_met(struct look *l, int warp, unsigned int lanes) {
  clock_meet(l, (unsigned)warp, lanes);
  race_thread_runs(l);
}

static void warp_met(int warp, unsigned int lanes) {
  look_met(inspect_now, warp, lanes);
}

static void fence(bool of_block) {
  order_fence(inspect_now, of_block);
}

static void grid_barrier(unsigned int number, bool arrives) {
  order_grid_barrier(inspect_now, number, arrives);
}

static void pause_look(bool begins) {
  if (begins) {
    struct timespec moment = {0, 20000};
    memory_paused_looks++;
    inspect_release();
    if (atomic_load(&waiting)) // the lock itself would be this thread's again before others are awake
      nanosleep(&moment, NULL);
  } else {
    inspect_hold();
    memory_paused_looks--;
  }
}

static void divergent(int thread, const char *file, int line, int other, const char *other_file, int other_line,
                      bool of_warp) {
  struct look *l = inspect_now;
  const enum finding_kind kind = of_warp ? FIND_LANES : FIND_DIVERGENT;
  struct place place = {.file = file, .line = line, .other_line = other_line};
  unsigned block = block_of(l->launch, l->run);
  if (other_file)
    finding_add(kind, l->launch->kernel, place, "thread %d waits here, thread %d %s, in block %u", thread, other,
                of_warp ? "elsewhere" : "at another barrier", block);
  else
    finding_add(kind, l->launch->kernel, place, "thread %d waits here, thread %d has returned, in block %u", thread,
                other, block);
}

static void livelocked(void) {
  struct look *l = inspect_now;
  finding_add(FIND_LIVELOCK, l->launch->kernel, (struct place){.first = key_place(lane_last_key(l))},
              "thread %d of block %u", l->thread, block_of(l->launch, l->run));
}

static void faulted(const void *address) {
  struct look *l = inspect_now;
  finding_add(FIND_ILLEGAL, l->launch->kernel, (struct place){.first = key_place(lane_last_key(l))},
              "address %p: thread %d of block %u", address, l->thread, block_of(l->launch, l->run));
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

// A copy's or fill's, or a library function's; what is of the host alone is none's business.
static void transfer(const struct sim_region *region, bool writes) {
  const uint64_t address = (uint64_t)(uintptr_t)region->address;
  size_t offset;
  if (memory_has(address) || program_is_constant(address, &offset))
    past_transfer(
        (struct transferred){*region, program_place_if(sim_running_caller()), sim_running_library(), writes, false});
}

// In a stream, which orders it: what other streams do to the memory is not ordered.
static void freed_in_stream(void *address) {
  inspect_hold();
  const struct allocation *a = memory_allocation((uint64_t)(uintptr_t)address);
  if (a && !a->freed)
    past_transfer((struct transferred){sim_bytes(address, a->bytes), program_place_if(sim_running_caller()),
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
    finding_add(FIND_FREED, k, (struct place){.first = program_place(caller), .third = a->place},
                "argument %d of the launch: memory of %zu bytes", argument->position + 1, a->bytes);
  else
    finding_add(FIND_ARGUMENT, k, (struct place){.first = program_place(caller)},
                "argument %d of the launch is an address of the host", argument->position + 1);
  inspect_release();
}

// ---- beginning and end ---------------------------------------------------------------------------------------------------------

static bool will_count(const struct cudasim_launch_request *request) {
  return request->inspected && kernel_is_wanted(request);
}

// What ends in the middle of a kernel writes what was found up to there.
static void at_exit(void) {
  if (inspect_now == NULL)
    inspect_hold();
  inspect_write_record();
}

// The program has to end by its fault, whatever it has damaged: the heap, whose lock this thread may hold, or a kernel that another
// thread looks at, and which never ends.
static void too_late(int number) {
  sigset_t signals;
  (void)number;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  signal(SIGSEGV, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  raise(SIGSEGV);
}

// In a handler of signals. Where this thread has the lock, what was found is in the middle of a change and is not written.
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

static const struct sim_plugin inspector = {.launch_begin = launch_begin,
                                            .launch_end = launch_end,
                                            .block_begin = block_begin,
                                            .block_end = block_end,
                                            .blocks_left = blocks_left,
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
                                            .pause = pause_look,
                                            .divergent = divergent,
                                            .dies = dies,
                                            .livelocked = livelocked,
                                            .faulted = faulted,
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
  const char *count = getenv("FERRY_INSPECT_BLOCKS");
  kernels_want(getenv("FERRY_INSPECT_KERNEL"));
  blocks = count ? strtoul(count, NULL, 10) : 0;
  const char *counts = getenv("FERRY_INSPECT_COUNTS");
  inspect_counts = counts == NULL || strcmp(counts, "0") != 0;
  inspect_scored = sim_inspects_all = getenv("FERRY_INSPECT_SCORED") != NULL;
  program_read();
  if (program_has_managed())
    host_begins_sharing();
  mix_read();
  sim_plugin_register(&inspector);
  sim_vector_clocks_start();
  cudasim_counts_come(will_count);
  atexit(at_exit);
}
