// A block's threads run as plain calls, one after another, in the compiled loop of cudasim_launch.h. When the first one
// has to wait, it stays on its stack where it is, and a fiber goes on with the threads that have not begun. So a kernel
// without barriers never leaves the native stack, and a block of n threads needs at most n - 1 fibers.
#include "block_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudasim_judged.h"
#include "inspector.h"
#include "sanitizer.h"
#include "shared.h"
#include "sim.h"
#include "weak.h"

__thread struct uint3 threadIdx, blockIdx;
__thread struct cudasim_dim3 blockDim, gridDim;
__thread unsigned int cudasim_left;

const struct sim_inspector *sim_inspector;

__thread struct sim_executor *sim_executor;
static pthread_key_t executor_key;
static pthread_once_t executor_once = PTHREAD_ONCE_INIT;

enum { POLLS_BETWEEN_SWITCHES = 1024, POLLS_UNTIL_LIVELOCK = 64 << 20 };

// ---- the executor ----

static void free_executor(void *pointer) {
  struct sim_executor *e = pointer;
  while (e->all_fibers) {
    struct sim_fiber *fiber = e->all_fibers;
    e->all_fibers = fiber->next;
    sim_fiber_free(fiber);
  }
  ASAN_UNPOISON_MEMORY_REGION(e->dynamic_shared, SIM_MAX_SHARED_BYTES);
  free(e->dynamic_shared - CUDASIM_SHARED_GUARD);
  free(e);
  sim_executor = NULL;
}

static void make_key(void) {
  pthread_key_create(&executor_key, free_executor);
}

static struct sim_executor *get_executor(void) {
  if (sim_executor)
    return sim_executor;
  pthread_once(&executor_once, make_key);
  struct sim_executor *e = calloc(1, sizeof *e);
  char *shared = aligned_alloc(128, SIM_MAX_SHARED_BYTES + 2 * CUDASIM_SHARED_GUARD);
  if (e == NULL || shared == NULL) {
    fprintf(stderr, "ferry: the simulated CUDA device has no memory to run a kernel\n");
    exit(1);
  }
  e->native = sim_fiber_native();
  e->dynamic_shared = shared + CUDASIM_SHARED_GUARD;
  pthread_setspecific(executor_key, e);
  return sim_executor = e;
}

bool sim_block_running(void) {
  return sim_executor && sim_executor->inside;
}

void *cudasim_dynamic_shared(void) {
  return sim_executor->dynamic_shared;
}

static struct sim_fiber *take_fiber(struct sim_executor *e) {
  struct sim_fiber *fiber = e->free_fibers;
  if (fiber) {
    e->free_fibers = fiber->next_free;
    return fiber;
  }
  fiber = sim_fiber_new(++e->fibers);
  fiber->next = e->all_fibers;
  return e->all_fibers = fiber;
}

static void give_fiber(struct sim_executor *e, struct sim_fiber *fiber) {
  fiber->next_free = e->free_fibers;
  e->free_fibers = fiber;
}

static void switch_to(struct sim_executor *e, struct sim_fiber *fiber) {
  struct sim_fiber *self = e->running;
  if (fiber == self)
    return;
  e->running = fiber;
  sim_fiber_switch(self, fiber);
}

// ---- the order in which threads begin ----

static unsigned int next_random(unsigned int *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static void shuffle(uint16_t *items, unsigned int count, unsigned int *random) {
  for (unsigned int i = count; i > 1; i--) {
    unsigned int j = next_random(random) % i;
    uint16_t item = items[i - 1];
    items[i - 1] = items[j];
    items[j] = item;
  }
}

// Warps in order, and the threads of each warp together: descending and random order keep warps whole.
static void fill_order(struct sim_executor *e, unsigned int random) {
  enum sim_order order = sim.config.order;
  unsigned int warps = (e->threads + SIM_WARP_THREADS - 1) / SIM_WARP_THREADS, place = 0;
  uint16_t warp_order[SIM_MAX_WARPS];
  for (unsigned int i = 0; i < warps; i++)
    warp_order[i] = (uint16_t)(order == SIM_DESCENDING ? warps - 1 - i : i);
  if (order == SIM_RANDOM)
    shuffle(warp_order, warps, &random);
  for (unsigned int i = 0; i < warps; i++) {
    unsigned int first = warp_order[i] * (unsigned int)SIM_WARP_THREADS, lanes = e->threads - first;
    lanes = lanes < SIM_WARP_THREADS ? lanes : SIM_WARP_THREADS;
    e->warp_place[warp_order[i]] = (uint16_t)place;
    for (unsigned int lane = 0; lane < lanes; lane++)
      e->order[place + lane] = (uint16_t)(first + (order == SIM_DESCENDING ? lanes - 1 - lane : lane));
    if (order == SIM_RANDOM)
      shuffle(e->order + place, lanes, &random);
    place += lanes;
  }
}

static void fill_indices(struct sim_executor *e) {
  unsigned int thread = 0;
  for (unsigned int z = 0; z < e->shape.z; z++)
    for (unsigned int y = 0; y < e->shape.y; y++)
      for (unsigned int x = 0; x < e->shape.x; x++)
        e->index[thread++] = (struct uint3){x, y, z};
}

static void set_shape(struct sim_executor *e, struct cudasim_dim3 shape, unsigned int block) {
  bool same = e->shape.x == shape.x && e->shape.y == shape.y && e->shape.z == shape.z;
  if (!same) {
    e->shape = shape;
    e->threads = shape.x * shape.y * shape.z;
    fill_indices(e);
  }
  if (sim.config.order == SIM_RANDOM) // a block's order depends on the seed and on nothing else
    fill_order(e, (sim.config.seed + block) * 2654435761u | 1u);
  else if (!same)
    fill_order(e, 0);
}

// ---- scheduling ----

// The first wait of this block: from the loop's counter to the tables. Threads so far have run in ascending order.
void sim_start_tracking(struct sim_executor *e) {
  unsigned int begun = e->threads - cudasim_left;
  cudasim_left = 0;
  e->tracking = true;
  e->current = (int)begun - 1;
  e->done = begun - 1;
  e->cursor = begun;
  e->at_barrier = e->at_warp = e->phase = 0;
  e->look_again = e->complete = e->warps_used = false;
  memset(e->state, SIM_UNSTARTED, e->threads);
  memset(e->state, SIM_DONE, e->done);
  e->state[e->current] = SIM_RUNNING;
  for (int vote = 0; vote < CUDASIM_VOTES; vote++)
    e->votes[vote][0] = vote == CUDASIM_VOTE_AND;
}

static void begin_thread(struct sim_executor *e, int thread) {
  e->current = thread;
  e->state[thread] = SIM_RUNNING;
  threadIdx = e->index[thread];
  if (e->inspected)
    sim_inspector->thread_runs(thread);
}

_Noreturn void sim_give_up(struct sim_executor *e, cudaError_t error) {
  e->error = error;
  if (e->running != &e->native)
    sim_fiber_before_jump(&e->native);
  siglongjmp(e->give_up, 1);
}

// The barrier's first thread waits there for one that is elsewhere, or has returned.
static void tell_divergent(struct sim_executor *e, int first, int other) {
  bool waits = e->state[other] == SIM_AT_BARRIER;
  if (e->inspected)
    sim_inspector->divergent(first, e->file[first], e->line[first], other, waits ? e->file[other] : NULL,
                             waits ? e->line[other] : 0);
}

static int first_done(const struct sim_executor *e) {
  int thread = 0;
  while (e->state[thread] != SIM_DONE)
    thread++;
  return thread;
}

// The thread that stands for all that wait.
static int check_barrier(struct sim_executor *e) {
  int first = -1;
  for (unsigned int t = 0; t < e->threads; t++) {
    if (e->state[t] != SIM_AT_BARRIER)
      continue;
    first = first < 0 ? (int)t : first;
    if (e->line[t] != e->line[first] || e->file[t] != e->file[first]) {
      sim_report(e, "divergent __syncthreads(): threads of one block wait at different barriers");
      sim_report_threads(e);
      tell_divergent(e, first, (int)t);
      sim_give_up(e, cudaErrorIllegalAddress);
    }
  }
  if (e->done > 0) {
    sim_report(e, "divergent __syncthreads(): threads of the block have returned without coming to it");
    sim_report_threads(e);
    tell_divergent(e, first, first_done(e));
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  return first;
}

static void open_barrier(struct sim_executor *e) {
  int first = check_barrier(e);
  if (e->inspected)
    sim_inspector->barrier_opens(e->file[first], e->line[first], e->voted);
  e->voted = false;
  if (e->launch->judged)
    sim_weak_barrier();
  for (unsigned int t = 0; t < e->threads; t++)
    if (e->state[t] == SIM_AT_BARRIER)
      e->state[t] = SIM_READY;
  e->at_barrier = 0;
  e->cursor = 0;
  e->phase++;
  for (int vote = 0; vote < CUDASIM_VOTES; vote++)
    e->votes[vote][e->phase & 1] = vote == CUDASIM_VOTE_AND;
}

// The thread to go on with; -1 when all have returned.
static int pick_thread(struct sim_executor *e) {
  for (;;) {
    while (e->cursor < e->threads) {
      int thread = e->order[e->cursor++];
      if (e->state[thread] <= SIM_READY)
        return thread;
    }
    if (e->look_again) {
      e->look_again = false;
      e->cursor = 0;
    } else if (e->at_barrier == 0 && e->at_warp == 0) {
      return -1;
    } else if (e->at_warp > 0) {
      sim_report(e, "deadlock: a warp function waits for lanes of its mask that will never come");
      sim_report_threads(e);
      sim_give_up(e, cudaErrorIllegalAddress);
    } else {
      open_barrier(e);
    }
  }
}

// Of a kernel that is judged: what the running thread did up to here is looked at.
static void look_at_thread(struct sim_executor *e) {
  if (!e->launch->judged)
    return;
  sim_weak_thread_stops();
  if (sim_shared_is_broken(e))
    sim_give_up(e, cudaErrorIllegalAddress);
}

// The current thread's state says what it waits for; others run until it can go on.
void sim_suspend(struct sim_executor *e) {
  look_at_thread(e);
  e->fiber[e->current] = e->running;
  int thread = pick_thread(e);
  struct sim_fiber *fiber = e->state[thread] == SIM_UNSTARTED ? take_fiber(e) : e->fiber[thread];
  begin_thread(e, thread);
  switch_to(e, fiber);
}

// The calling fiber's thread has returned. True: another thread is to begin on this fiber.
int cudasim_next_thread_slow(void) {
  struct sim_executor *e = sim_executor;
  if (!e->tracking)
    return false;
  look_at_thread(e);
  e->state[e->current] = SIM_DONE;
  e->done++;
  if (e->inspected)
    sim_inspector->thread_done(e->current);
  sim_warp_thread_done(e, e->current);
  int thread = pick_thread(e);
  if (thread >= 0 && e->state[thread] == SIM_UNSTARTED) {
    begin_thread(e, thread);
    return true;
  }
  struct sim_fiber *self = e->running;
  bool native = self == &e->native;
  if (!native)
    give_fiber(e, self);
  if (thread >= 0) {
    begin_thread(e, thread);
    switch_to(e, e->fiber[thread]);
  } else if (!native) {
    e->complete = true;
    switch_to(e, &e->native);
  } else {
    return false;
  }
  return !(native && e->complete);
}

void sim_fiber_entry(void) {
  sim_fiber_landed(sim_executor->running);
  for (;;) {
    const struct sim_executor *e = sim_executor;
    (e->inspected ? e->launch->inspected : e->launch->thread)(e->launch->closure);
    cudasim_next_thread_slow();
  }
}

// ---- barriers ----

void cudasim_barrier(const char *file, int line) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  e->file[e->current] = file;
  e->line[e->current] = line;
  e->state[e->current] = SIM_AT_BARRIER;
  e->at_barrier++;
  sim_suspend(e);
}

int cudasim_barrier_vote(int predicate, enum cudasim_vote vote, const char *file, int line) {
  struct sim_executor *e = sim_executor;
  sim_track(e);
  e->voted = true;
  int *votes = &e->votes[vote][e->phase & 1];
  if (vote == CUDASIM_VOTE_COUNT)
    *votes += predicate != 0;
  else if (vote == CUDASIM_VOTE_AND)
    *votes &= predicate != 0;
  else
    *votes |= predicate != 0;
  cudasim_barrier(file, line);
  return *votes;
}

void cudasim_poll(void) {
  struct sim_executor *e = sim_executor;
  if (e == NULL || !e->inside || ++e->polls % POLLS_BETWEEN_SWITCHES != 0)
    return;
  sim_track(e);
  if (e->polls > POLLS_UNTIL_LIVELOCK) {
    sim_report(e, "livelock: a thread polls memory that no other thread of its block changes");
    sim_report_threads(e);
    sim_give_up(e, cudaErrorIllegalAddress);
  }
  e->state[e->current] = SIM_READY;
  e->look_again = true;
  sim_weak_publish(false); // it goes on where it is
  if (e->inspected) {
    sim_inspector->pause(true);
    sim_inspector->pause(false);
  }
  sim_suspend(e);
}

// ---- a block ----

static void start_out_of_order(struct sim_executor *e) {
  sim_track(e);
  memset(e->state, SIM_UNSTARTED, e->threads);
  e->done = e->cursor = 0;
  begin_thread(e, pick_thread(e));
}

static void forget_fibers(struct sim_executor *e) {
  e->free_fibers = NULL;
  for (struct sim_fiber *fiber = e->all_fibers; fiber; fiber = fiber->next) {
    sim_fiber_reset(fiber);
    give_fiber(e, fiber);
  }
}

static void run_threads(struct sim_executor *e) {
  if (sigsetjmp(e->give_up, 0) == 0) {
    if (sim.config.order != SIM_ASCENDING || e->inspected || (sim.config.weak && e->launch->judged))
      start_out_of_order(e);
    if (!e->inspected)
      e->launch->threads(e->launch->closure);
    else
      do
        e->launch->inspected(e->launch->closure);
      while (cudasim_next_thread_slow());
    return;
  }
  if (e->running != &e->native)
    sim_fiber_landed(&e->native);
  forget_fibers(e);
  cudasim_left = 0;
}

cudaError_t sim_block_run(const struct cudasim_launch_request *launch, unsigned int index, void *inspection) {
  struct sim_executor *e = get_executor();
  e->launch = launch;
  e->tracking = e->complete = e->voted = false;
  e->error = cudaSuccess;
  e->polls = 0;
  set_shape(e, launch->block, index);
  struct cudasim_dim3 grid = launch->grid;
  blockIdx = (struct uint3){index % grid.x, index / grid.x % grid.y, index / grid.x / grid.y};
  blockDim = launch->block;
  gridDim = grid;
  threadIdx = (struct uint3){0, 0, 0};
  ASAN_UNPOISON_MEMORY_REGION(e->dynamic_shared, launch->shared_bytes);
  ASAN_POISON_MEMORY_REGION(e->dynamic_shared + launch->shared_bytes, SIM_MAX_SHARED_BYTES - launch->shared_bytes);
  e->running = &e->native;
  cudasim_left = e->threads - 1;
  e->inspected = inspection && sim_inspector->block_begin(inspection, index, e->dynamic_shared);
  if (launch->judged) {
    sim_weak_block_begin();
    sim_shared_block_begin(e);
  }
  e->inside = true;
  run_threads(e);
  if (launch->judged) {
    sim_shared_is_broken(e);
    sim_weak_block_end();
  }
  e->inside = false;
  if (e->inspected)
    sim_inspector->block_end();
  return e->error;
}
