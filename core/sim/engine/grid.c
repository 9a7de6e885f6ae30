// SPDX-License-Identifier: MIT
// Running one launch: handing its blocks out to the worker threads.
#include "sim/engine/grid.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sim/base/plugin.h"
#include "sim/base/sim.h"
#include "sim/engine/block.h"
#include "sim/engine/cooperative.h"
#include "sim/engine/fault.h"
#include "sim/engine/nested.h"
#include "sim/engine/store_buffer.h"

enum { WORTH_SHARING = 16384 }; // threads in a grid, below which waking another worker costs more than it gains

// One execution of a launch, shared by the workers that run its blocks.
struct grid_run {
  atomic_int references;
  atomic_uint next, finished;
  atomic_int error; /* of the first block that failed */
  pthread_mutex_t lock;
  pthread_cond_t all_finished;      // signaled under `lock` by the worker whose block is the last to finish
  unsigned int blocks, step, shift; // step and shift: of a random order
  void *inspection;                 // an inspector's
  const struct cudasim_launch_request *request;
  struct sim_work *owner; // of the request; retained
};

static void release_run(struct grid_run *run) {
  if (atomic_fetch_sub(&run->references, 1) > 1)
    return;
  sim_work_release(run->owner);
  free(run);
}

static __thread struct grid_run *current_run;

// The block that runs as the `turn`-th one. In random order, turn * step + shift modulo the number of blocks: step is prime
// to that number, so each block has its turn.
static unsigned int block_at(const struct grid_run *run, unsigned int turn) {
  if (sim.config.blocks == SIM_ASCENDING)
    return turn;
  if (sim.config.blocks == SIM_DESCENDING)
    return run->blocks - 1 - turn;
  return (unsigned int)(((unsigned long long)turn * run->step + run->shift) % run->blocks);
}

static unsigned int common_divisor(unsigned int a, unsigned int b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

static void choose_order(struct grid_run *run) {
  unsigned int mixed = (sim.config.blocks_seed + 1) * 2654435761u;
  run->shift = mixed % run->blocks;
  run->step = (mixed >> 8) % run->blocks + 1;
  while (common_divisor(run->step, run->blocks) > 1)
    run->step++;
}

// How many of the next `most` blocks may run as one. An inspected block runs alone.
static unsigned int may_join(const struct grid_run *run, unsigned int block, unsigned int most) {
  if (sim.config.blocks != SIM_ASCENDING)
    return 1;
  const unsigned int left = run->inspection ? sim_inspector->blocks_left(run->inspection, block, most) : most;
  return left > 0 ? left : 1;
}

// Runs the blocks of some turns, one after another or several as one.
static struct sim_blocks_ran run_turns(struct grid_run *run, unsigned int turn, unsigned int count) {
  const struct cudasim_launch_request *request = run->request;
  struct sim_blocks_ran ran = {.independent = true};
  for (unsigned int end = turn + count; turn < end; turn += ran.count) {
    int none = cudaSuccess;
    ran.count = 1;
    if (atomic_load_explicit(&run->error, memory_order_relaxed) != cudaSuccess)
      continue;
    const unsigned int block = block_at(run, turn);
    ran = sim_blocks_run(request, block, may_join(run, block, end - turn), run->inspection);
    const int error = (int)sim_nested_run(ran.error);
    if (error != cudaSuccess)
      atomic_compare_exchange_strong(&run->error, &none, error);
  }
  return ran;
}

// How many blocks a worker takes at a time (guided self-scheduling): one if they may wait for each other. Otherwise the
// number doubles while a chunk takes less than CHUNK_NS, up to half of the worker's share of the blocks that are left.
// (C. Polychronopoulos and D. Kuck, 1987.)
struct pace {
  bool independent;
  unsigned int most;
};

enum { CHUNK_NS = 50000, MOST_BLOCKS = 256 };

static unsigned int blocks_at_once(const struct grid_run *run, const struct pace *pace) {
  const unsigned int begun = atomic_load_explicit(&run->next, memory_order_relaxed);
  const unsigned int left = begun < run->blocks ? run->blocks - begun : 0;
  const unsigned int share = left / (2 * (unsigned int)sim.config.workers);
  const unsigned int most = pace->independent ? pace->most : 1;
  return share < 1 ? 1 : share < most ? share : most;
}

// If one thread runs everything, chunks do not depend on time, so that a race has the same result in every run.
static void change_pace(struct pace *pace, bool independent, unsigned int count, long long *since) {
  pace->independent = independent;
  if (!independent || count < pace->most || pace->most >= MOST_BLOCKS)
    return;
  const long long now = sim.config.mode == SIM_THREADS ? sim_now() : *since;
  if (now - *since < CHUNK_NS)
    pace->most *= 2;
  *since = now;
}

static void finish_blocks(struct grid_run *run, unsigned int count) {
  if (atomic_fetch_add_explicit(&run->finished, count, memory_order_acq_rel) + count < run->blocks || count == 0)
    return;
  pthread_mutex_lock(&run->lock);
  pthread_cond_signal(&run->all_finished);
  pthread_mutex_unlock(&run->lock);
}

// Polls first: the other workers are mostly at their last blocks, which take less time than waking up.
static void wait_for_blocks(struct grid_run *run) {
  enum { LOOKS = 64 };
  for (int i = 0; i < LOOKS && atomic_load_explicit(&run->finished, memory_order_acquire) < run->blocks; i++)
    sched_yield();
  pthread_mutex_lock(&run->lock);
  while (atomic_load_explicit(&run->finished, memory_order_acquire) < run->blocks)
    pthread_cond_wait(&run->all_finished, &run->lock);
  pthread_mutex_unlock(&run->lock);
}

static void run_blocks(struct grid_run *run) {
  current_run = run;
#ifdef CUDASIM_STATIC_SHARED // there is one copy of each shared array in the program
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&one_at_a_time);
#endif
  unsigned int turn, finished = 0, wanted = 1;
  struct pace pace = {.most = 1};
  long long since = sim_now();
  while ((turn = atomic_fetch_add(&run->next, wanted)) < run->blocks) {
    const unsigned int left = run->blocks - turn, count = wanted < left ? wanted : left;
    const struct sim_blocks_ran ran = run_turns(run, turn, count);
    finished += count;
    change_pace(&pace, ran.independent, count, &since);
    wanted = blocks_at_once(run, &pace);
  }
  finish_blocks(run, finished);
#ifdef CUDASIM_STATIC_SHARED
  pthread_mutex_unlock(&one_at_a_time);
#endif
  current_run = NULL;
}

static void run_as_helper(void *data) {
  struct grid_run *run = data;
  run_blocks(run);
  release_run(run);
}

static void offer_blocks(struct grid_run *run) {
  int wanted = sim.config.workers - 1;
  wanted = (unsigned int)wanted < run->blocks ? wanted : (int)run->blocks - 1;
  atomic_fetch_add(&run->references, wanted);
  int accepted = sim_worker_offer((struct sim_helper){run_as_helper, run}, wanted);
  for (; accepted < wanted; accepted++)
    release_run(run);
}

static atomic_uint helping; // threads started by sim_grid_spread, of all launches

static void *help_on_own_thread(void *run) {
  sim_worker_prepare_thread();
  run_as_helper(run);
  atomic_fetch_sub(&helping, 1);
  return NULL;
}

// A GPU, too, only has room for a limited number of blocks at a time. Here the limit is memory: each thread of a block needs
// two of a process's 65,530 memory maps.
void sim_grid_spread(void) {
  enum { MOST = 64, MOST_THREADS = 16384 };
  struct grid_run *run = current_run;
  if (run == NULL || sim.config.mode == SIM_SYNC)
    return;
  const struct cudasim_launch_request *request = run->request;
  const unsigned int threads = request->block.x * request->block.y * request->block.z;
  const unsigned int room = MOST_THREADS / threads, most = room < MOST ? room : MOST;
  for (unsigned int taken = atomic_load(&run->next); taken < run->blocks; taken++) {
    pthread_t thread;
    if (atomic_fetch_add(&helping, 1) >= most) {
      atomic_fetch_sub(&helping, 1);
      return;
    }
    atomic_fetch_add(&run->references, 1);
    if (pthread_create(&thread, NULL, help_on_own_thread, run) != 0) {
      atomic_fetch_sub(&helping, 1);
      release_run(run);
      return;
    }
    pthread_detach(thread);
  }
}

static bool worth_sharing(const struct cudasim_launch_request *request, unsigned int blocks) {
#if defined(CUDASIM_TSAN) || defined(CUDASIM_STATIC_SHARED) // a launch's blocks stay on one thread
  (void)request;
  (void)blocks;
  return false;
#else
  unsigned long long threads = request->block.x * request->block.y * request->block.z;
  return sim.config.mode == SIM_THREADS && sim.config.workers > 1 && blocks > 1 && blocks * threads >= WORTH_SHARING;
#endif
}

// Inspected blocks run one at a time. If the first one is inspected, most are.
static bool looks_at_most(const struct grid_run *run) {
  return run->inspection && sim_inspector->blocks_left(run->inspection, block_at(run, 0), 1) == 0;
}

cudaError_t sim_grid_run(const struct cudasim_launch_request *request, int device, struct sim_work *owner) {
  sim_fault_prepare_thread();
  if (request->cooperative)
    return sim_cooperative_run(request, request->grid.x * request->grid.y * request->grid.z);
  struct grid_run *run = sim_allocate(sizeof *run);
  *run = (struct grid_run){.references = 1,
                           .request = request,
                           .owner = sim_work_retain(owner),
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .all_finished = PTHREAD_COND_INITIALIZER};
  run->blocks = request->grid.x * request->grid.y * request->grid.z;
  if (sim_inspector)
    run->inspection = sim_inspector->launch_begin(request, run->blocks);
  choose_order(run);
  sim_store_buffer_launch_begin(request, device, run->blocks);
  if (worth_sharing(request, run->blocks) && !looks_at_most(run))
    offer_blocks(run);
  run_blocks(run);
  sim_store_buffer_launch_end();
  wait_for_blocks(run);
  cudaError_t error = (cudaError_t)atomic_load(&run->error);
  if (run->inspection)
    sim_inspector->launch_end(run->inspection);
  release_run(run);
  return error;
}
