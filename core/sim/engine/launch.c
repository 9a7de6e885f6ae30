// Launches: checking them, and spreading a grid's blocks over the workers.
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/block.h"
#include "sim/engine/block_internal.h"
#include "sim/runtime/clock.h"
#include "sim/engine/cooperative.h"
#include "sim/base/cudasim.h"
#include "cudasim_launch.h"
#include "sim/engine/fault.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "model/kernel.h"
#include "sim/engine/nested.h"
#include "sim/runtime/node.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"
#include "sim/runtime/trace.h"
#include "sim/runtime/unasked.h"
#include "sim/engine/watchdog.h"
#include "sim/engine/weak.h"

enum {
  DEFAULT_SHARED_BYTES = 49152,
  SHARED_BYTES_PER_SM = 233472,
  RESERVED_SHARED_BYTES = 1024,
  MAX_THREADS_PER_SM = 2048,
  MAX_BLOCKS_PER_SM = 32,
  WORTH_SHARING = 16384 // threads in a grid, below which waking another worker costs more than it gains
};

struct launch_work {
  struct sim_work base;
  struct cudasim_launch_request request;
  int device;
  alignas(16) char closure[];
};

// ---- running ----

// One execution of a launch, shared by the workers that run its blocks.
struct grid_run {
  atomic_int references;
  atomic_uint next, finished;
  atomic_int error; /* of the first block that failed */
  pthread_mutex_t lock;
  pthread_cond_t all_finished;      // signalled under `lock` by the worker whose block is the last to finish
  unsigned int blocks, step, shift; // step and shift: of a random order
  void *inspection;                 // an inspector's
  struct sim_work *work;            // retained
};

static void release_run(struct grid_run *run) {
  if (atomic_fetch_sub(&run->references, 1) > 1)
    return;
  sim_work_release(run->work);
  free(run);
}

static __thread struct grid_run *current_run;

// Which block runs as the `turn`-th one. Random: turn * step + shift modulo their number, which reaches each of them once.
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

// How many of the next `most` blocks may run as one. One that is looked at runs by itself.
static unsigned int may_join(const struct grid_run *run, unsigned int block, unsigned int most) {
  if (sim.config.blocks != SIM_ASCENDING)
    return 1;
  const unsigned int left = run->inspection ? sim_inspector->blocks_left(run->inspection, block, most) : most;
  return left > 0 ? left : 1;
}

// Runs the blocks of some turns, one after another or several as one.
static struct sim_blocks_ran run_turns(struct grid_run *run, unsigned int turn, unsigned int count) {
  const struct cudasim_launch_request *request = &((struct launch_work *)run->work)->request;
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

// How many blocks a worker takes at a time: one while they may wait for each other, otherwise more from time to time, as long as
// that takes no longer than CHUNK_NS, and there are some left for the others.
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

// Whatever its order, a race ends alike each time where one thread runs everything: there the time does not count.
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

// Most often the others are at their last blocks: waking up would take longer than that.
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

static void help(void *data) {
  struct grid_run *run = data;
  run_blocks(run);
  release_run(run);
}

static void offer_blocks(struct grid_run *run) {
  int wanted = sim.config.workers - 1;
  wanted = (unsigned int)wanted < run->blocks ? wanted : (int)run->blocks - 1;
  atomic_fetch_add(&run->references, wanted);
  int accepted = sim_worker_offer((struct sim_helper){help, run}, wanted);
  for (; accepted < wanted; accepted++)
    release_run(run);
}

static atomic_uint helping; // threads of their own, of all launches

static void *help_on_own_thread(void *run) {
  sim_worker_prepare_thread();
  help(run);
  atomic_fetch_sub(&helping, 1);
  return NULL;
}

// A block has polled for so long that it may wait for one that has not begun: more of the grid gets threads of its own. A GPU, too,
// has room for so many blocks at a time and no more; here each thread of a block takes two of a process's 65,530 memory maps.
void sim_launch_spread(void) {
  enum { MOST = 64, MOST_THREADS = 16384 };
  struct grid_run *run = current_run;
  if (run == NULL || sim.config.mode == SIM_SYNC)
    return;
  const struct cudasim_launch_request *request = &((struct launch_work *)run->work)->request;
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

// Blocks that are looked at run one at a time, whoever runs them. Where the first is, most are.
static bool looks_at_most(const struct grid_run *run) {
  return run->inspection && sim_inspector->blocks_left(run->inspection, block_at(run, 0), 1) == 0;
}

static cudaError_t run_launch(struct sim_work *base) {
  const struct cudasim_launch_request *request = &((struct launch_work *)base)->request;
  sim_fault_prepare_thread();
  if (request->cooperative)
    return sim_cooperative_run(request, request->grid.x * request->grid.y * request->grid.z);
  struct grid_run *run = sim_allocate(sizeof *run);
  *run = (struct grid_run){.references = 1,
                           .work = sim_work_retain(base),
                           .lock = PTHREAD_MUTEX_INITIALIZER,
                           .all_finished = PTHREAD_COND_INITIALIZER};
  run->blocks = request->grid.x * request->grid.y * request->grid.z;
  if (sim_inspector)
    run->inspection = sim_inspector->launch_begin(request, run->blocks);
  choose_order(run);
  sim_weak_launch_begin(request, ((struct launch_work *)base)->device, run->blocks);
  if (worth_sharing(request, run->blocks) && !looks_at_most(run))
    offer_blocks(run);
  run_blocks(run);
  sim_weak_launch_end();
  wait_for_blocks(run);
  cudaError_t error = (cudaError_t)atomic_load(&run->error);
  if (run->inspection)
    sim_inspector->launch_end(run->inspection);
  release_run(run);
  return error;
}

static void count_launch(const struct sim_work *base) {
  (void)base;
  sim_count_kernel(&sim.counters.launches);
}

static void describe_launch(const struct sim_work *base, struct cudasim_activity *activity) {
  const struct cudasim_launch_request *request = &((const struct launch_work *)base)->request;
  const struct cudasim_dim3 grid = request->grid, block = request->block;
  activity->kind = CUDASIM_KERNEL;
  activity->name = request->name ? request->name : "kernel";
  memcpy(activity->grid, (unsigned int[]){grid.x, grid.y, grid.z}, sizeof activity->grid);
  memcpy(activity->block, (unsigned int[]){block.x, block.y, block.z}, sizeof activity->block);
}

// ---- attributes of kernels ----

static struct {
  const void *function;
  int max_dynamic_shared;
} * opt_ins; // cudaFuncSetAttribute; under sim.lock
static size_t opt_in_count, opt_in_room;

static int max_dynamic_shared(const void *function) {
  int bytes = DEFAULT_SHARED_BYTES;
  sim_lock();
  for (size_t i = 0; i < opt_in_count; i++)
    if (opt_ins[i].function == function)
      bytes = opt_ins[i].max_dynamic_shared;
  sim_unlock();
  return bytes;
}

static void opt_in(const void *function, int bytes) {
  sim_lock();
  size_t i = 0;
  while (i < opt_in_count && opt_ins[i].function != function)
    i++;
  if (i == opt_in_room) {
    opt_in_room = opt_in_room ? 2 * opt_in_room : 16;
    opt_ins = sim_resize(opt_ins, opt_in_room * sizeof *opt_ins);
  }
  opt_ins[i].function = function;
  opt_ins[i].max_dynamic_shared = bytes;
  opt_in_count += i == opt_in_count;
  sim_unlock();
}

static int most_shared_bytes(void) {
  return sim.config.gpu ? (int)sim.config.gpu->architecture->shared_block.value : SIM_MAX_SHARED_BYTES;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) {
  SIM_TRY(sim_enter());
  if (function == NULL)
    return sim_fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout)
    return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > most_shared_bytes())
    return sim_fail(cudaErrorInvalidValue);
  opt_in(function, value);
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) {
  SIM_TRY(sim_enter());
  if (attributes == NULL || function == NULL)
    return sim_fail(cudaErrorInvalidDeviceFunction);
  *attributes = (struct cudaFuncAttributes){.maxThreadsPerBlock = SIM_MAX_BLOCK_THREADS,
                                            .numRegs = 32,
                                            .ptxVersion = 90,
                                            .binaryVersion = 90,
                                            .maxDynamicSharedSizeBytes = max_dynamic_shared(function),
                                            .preferredShmemCarveout = -1};
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int threads,
                                                          size_t shared_bytes) {
  SIM_TRY(sim_enter());
  if (blocks == NULL || function == NULL || threads < 1 || threads > SIM_MAX_BLOCK_THREADS)
    return sim_fail(cudaErrorInvalidValue);
  if (sim.config.gpu) {
    *blocks = model_resident_blocks(sim.config.gpu, threads, (double)shared_bytes, 0);
    return cudaSuccess;
  }
  int whole_warps = (threads + 31) / 32 * 32;
  int by_threads = MAX_THREADS_PER_SM / whole_warps;
  int by_shared = (int)(SHARED_BYTES_PER_SM / (shared_bytes + RESERVED_SHARED_BYTES));
  *blocks = by_threads < by_shared ? by_threads : by_shared;
  *blocks = *blocks > MAX_BLOCKS_PER_SM ? MAX_BLOCKS_PER_SM : *blocks;
  return cudaSuccess;
}

// ---- launching ----

static cudaError_t check_shape(const struct cudasim_launch_request *request) {
  struct cudasim_dim3 grid = request->grid, block = request->block;
  unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  bool good = threads > 0 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads <= SIM_MAX_BLOCK_THREADS;
  good = good && grid.x > 0 && grid.y > 0 && grid.z > 0;
  good = good && grid.x <= 0x7fffffffu && grid.y <= 65535 && grid.z <= 65535;
  good = good && (unsigned long long)grid.x * grid.y * grid.z <= 0x7fffffffu; // the simulator's own limit
  if (!good)
    return cudaErrorInvalidConfiguration;
  if (request->cooperative) {
    int blocks = 0, device = sim_current_device;
    struct cudaDeviceProp properties;
    SIM_TRY(cudaGetDeviceProperties(&properties, device));
    SIM_TRY(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, request->function, (int)threads, request->shared_bytes));
    const unsigned long long wanted = (unsigned long long)grid.x * grid.y * grid.z;
    if (wanted > (unsigned long long)blocks * (unsigned long long)properties.multiProcessorCount ||
        wanted * threads > SIM_MAX_COOPERATIVE_THREADS)
      return cudaErrorCooperativeLaunchTooLarge;
  }
  return request->shared_bytes <= (size_t)max_dynamic_shared(request->function) ? cudaSuccess : cudaErrorInvalidValue;
}

static struct {
  unsigned long long count;
  struct cudasim_dim3 grid, block; // of the last
} refused;                         // under sim.lock

static cudaError_t refuse_or_take(const struct cudasim_launch_request *request) {
  const cudaError_t error = check_shape(request);
  if (error == cudaSuccess)
    return error;
  sim_lock();
  refused.count++;
  refused.grid = request->grid;
  refused.block = request->block;
  sim_unlock();
  return error;
}

void sim_launch_stats(struct cudasim_stats *stats) {
  sim_lock();
  stats->refused_launches = refused.count;
  memcpy(stats->refused_grid, &refused.grid, sizeof stats->refused_grid);
  memcpy(stats->refused_block, &refused.block, sizeof stats->refused_block);
  sim_unlock();
}

// False after a message when a pointer argument is one that the kernel may not use.
static bool check_pointers(const struct cudasim_launch_request *request, int device, const void *caller) {
  for (int i = 0; sim.config.check && i < request->pointer_count; i++) {
    const struct cudasim_pointer_argument *argument = &request->pointers[i];
    const char *fault = argument->value ? sim_pointer_fault(argument->value, device) : NULL;
    if (fault == NULL)
      continue;
    fprintf(stderr, "cudasim: kernel %s: argument %d (%p) points to %s\n", request->name ? request->name : "(no name)",
            argument->position + 1, (void *)(uintptr_t)argument->value, fault);
    SIM_NOTIFY(refused, (request, i, caller));
    return false;
  }
  return true;
}

// Until somebody has looked at the kernel: that each thread reads and writes four bytes in order.
static void cost_launch(const struct sim_work *base, struct sim_cost *cost) {
  const struct cudasim_launch_request *r = &((const struct launch_work *)base)->request;
  const double threads = (double)r->block.x * r->block.y * r->block.z;
  const double blocks = (double)r->grid.x * r->grid.y * r->grid.z, warps = blocks * ceil(threads / 32);
  const struct model_counts counts = {.blocks = blocks,
                                      .threads = threads,
                                      .shared_bytes = (double)r->shared_bytes,
                                      .loads = warps,
                                      .load_sectors = 4 * warps,
                                      .load_lines = warps,
                                      .stores = warps,
                                      .store_sectors = 4 * warps,
                                      .store_lines = warps,
                                      .l1_misses = 4 * warps,
                                      .dram_reads = 4 * blocks * threads,
                                      .dram_writes = 4 * blocks * threads,
                                      .integer = 8 * warps};
  const struct model_time time = model_kernel(sim.config.gpu, &counts);
  cost->engine = MODEL_KERNELS;
  cost->seconds = time.seconds;
  cost->share = time.share;
  cost->counted = sim_clock_counts_come(r);
}

static cudaError_t launch_in_kernel(const struct cudasim_launch_request *request, const void *caller) {
  struct sim_executor *e = sim_executor;
  sim_critical_begin(e, caller);
  cudaError_t error = check_shape(request);
  if (error == cudaSuccess) {
    sim_count_kernel(&sim.counters.launches);
    error = sim_nested_launch(request);
  }
  sim_critical_end(e);
  return sim_fail(error);
}

cudaError_t sim_launch(const struct cudasim_launch_request *request, const void *caller) {
  SIM_TRY(sim_enter());
  if (sim_block_running())
    return launch_in_kernel(request, caller);
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(request->stream, &stream));
  if (stream->device != sim_current_device)
    return sim_fail(cudaErrorInvalidResourceHandle);
  SIM_TRY(sim_sticky(stream->device));
  SIM_TRY(refuse_or_take(request));
  if (!check_pointers(request, stream->device, caller)) { // as on a GPU: the launch succeeds, what follows fails
    sim_set_sticky(stream->device, cudaErrorIllegalAddress);
    return cudaSuccess;
  }
  struct launch_work *work = sim_work_new(sizeof *work + request->closure_bytes, run_launch, NULL);
  work->base.on_any_thread = true;
  work->base.count = count_launch;
  work->base.describe = describe_launch;
  work->base.cost = cost_launch;
  work->request = *request;
  work->device = stream->device;
  memcpy(work->closure, request->closure, request->closure_bytes);
  work->request.closure = work->closure;
  return sim_fail(sim_submit(stream, &work->base, NULL));
}
