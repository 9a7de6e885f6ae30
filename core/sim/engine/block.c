// SPDX-License-Identifier: MIT
// Running one block: its index in the grid, faults, the checks of judged kernels, and the inspector. block_threads.c
// runs its threads.
#include "sim/engine/block_internal.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/crash.h"
#include "cudasim_judged.h"
#include "cudasim_split.h"
#include "sim/base/plugin.h"
#include "sim/engine/sanitizer.h"
#include "sim/engine/shared.h"
#include "sim/engine/watchdog.h"
#include "sim/engine/store_buffer.h"

// Outside of kernels, a function that is the device's, too (of thrust's, say), finds the place of a single thread.
static const struct cudasim_index nowhere = {0, 0, 0};
__thread struct uint3 threadIdx, blockIdx;
__thread struct cudasim_dim3 blockDim = {1, 1, 1}, gridDim = {1, 1, 1};
__thread const struct cudasim_index *cudasim_thread = &nowhere;
__thread int cudasim_run_as_loop;
__thread struct cudasim_blocks cudasim_coarsened;

bool sim_inspects_all;

const void *sim_block_state(size_t *bytes) {
  *bytes = sizeof *sim_executor;
  return sim_executor;
}

__thread struct sim_executor *sim_executor;
static pthread_key_t executor_key;
static pthread_once_t executor_once = PTHREAD_ONCE_INIT;

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
  free(e->printed.text);
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
  struct sim_executor *e = aligned_alloc(64, (sizeof *e + 63) / 64 * 64);
  char *shared = aligned_alloc(128, SIM_MAX_SHARED_BYTES + 2 * CUDASIM_SHARED_GUARD);
  if (e == NULL || shared == NULL) {
    fprintf(stderr, "ferry: the simulated CUDA device has no memory to run a kernel\n");
    exit(1);
  }
  memset(e, 0, sizeof *e);
  e->native = sim_fiber_native();
  e->by_number[0] = &e->native;
  e->dynamic_shared = shared + CUDASIM_SHARED_GUARD;
  pthread_setspecific(executor_key, e);
  return sim_executor = e;
}

bool sim_block_running(void) {
  return sim_executor && sim_executor->inside;
}

int cudasim_in_kernel(void) {
  return sim_block_running();
}

bool sim_block_grows_stack(const void *address) {
  return sim_fiber_grow(sim_executor->by_number[sim_executor->running], address);
}

_Noreturn void sim_block_fail(cudaError_t error) {
  sim_give_up(sim_executor, error);
}

void *cudasim_dynamic_shared(void) {
  return get_executor()->dynamic_shared;
}

// ---- a block ----

static void reset_block(struct sim_executor *e) {
  e->tracking = e->complete = e->voted = e->ran_as_loop = false;
  cudasim_run_as_loop = CUDASIM_LOOP_NO;
  e->passed_file = NULL;
  e->error = cudaSuccess;
  e->critical = e->asked = 0;
  sim_set(&e->polls, 0);
  e->running = SIM_NATIVE;
}

// Divisions are a tenth of what a block costs.
static struct uint3 place_in_grid(struct cudasim_dim3 grid, unsigned int index) {
  const unsigned int row = index < grid.x ? 0 : index / grid.x, layer = row < grid.y ? 0 : row / grid.y;
  return (struct uint3){index - row * grid.x, row - layer * grid.y, layer};
}

static void set_place(struct sim_executor *e, unsigned int index) {
  sim_set_shape(e, e->launch->block, index);
  blockIdx = place_in_grid(e->launch->grid, index);
}

// Runs the block again thread by thread to find which thread used the address: the loop ran the threads together,
// perhaps in vectors. The device is lost in any case, so doing some of the work twice does no harm.
static void run_on_fibers(struct sim_executor *e) {
  reset_block(e);
  e->on_fibers = true;
  sim_run_threads(e);
  e->on_fibers = false;
}

static void find_faulting_thread(struct sim_executor *e, unsigned int index, unsigned int blocks) {
  const struct sim_fault fault = e->fault;
  sim_print_discard(e);
  for (unsigned int block = 0; block < blocks && (block == 0 || e->error == cudaSuccess); block++) {
    set_place(e, index + block);
    run_on_fibers(e);
  }
  if (e->error == cudaSuccess) {
    sim_report_fault(e, fault);
    sim_crash_tell_line(fault.pc);
  }
  e->error = e->error == cudaSuccess ? fault.error : e->error;
}

// Finds the thread in the same way if one of the loop wrote outside of a shared array.
static void judged_block_end(struct sim_executor *e) {
  if (!e->tracking && e->error == cudaSuccess && sim_shared_is_written_outside(e)) {
    sim_shared_block_begin(e);
    sim_print_discard(e);
    run_on_fibers(e);
    e->error = e->error == cudaSuccess ? cudaErrorIllegalAddress : e->error;
  }
  sim_shared_is_broken(e);
  sim_store_buffer_block_end();
}

// Called by the signal handler.
_Noreturn void sim_block_fault(struct sim_fault fault) {
  struct sim_executor *e = sim_executor;
  e->fault.error = cudaSuccess;
  if (!e->tracking && !e->on_fibers && !e->inspected) {
    e->fault = fault;
  } else {
    sim_report_fault(e, fault);
    sim_report_thread();
    sim_crash_tell_line(fault.pc);
    if (e->inspected && fault.error != cudaErrorLaunchFailure) // a division has no address
      sim_inspector->faulted(fault.address);
  }
  sim_give_up(e, fault.error);
}

// Block coarsening: how many blocks from this one on, in its row of the grid, may run as one. Their indices must be ints.
static unsigned int max_coarsening(const struct cudasim_launch_request *launch, unsigned int most) {
  const unsigned int left = launch->grid.x - blockIdx.x, room = INT_MAX / launch->block.x;
  const unsigned int fit = blockIdx.x < room ? room - blockIdx.x : 1;
  most = most < left ? most : left;
  return most < fit ? most : fit;
}

cudaError_t sim_block_run(const struct cudasim_launch_request *launch, unsigned int index, void *inspection) {
  return sim_blocks_run(launch, index, 1, inspection).error;
}

struct sim_blocks_ran sim_blocks_run(const struct cudasim_launch_request *launch, unsigned int index, unsigned int most,
                                     void *inspection) {
  struct sim_executor *e = get_executor();
  e->launch = launch;
  reset_block(e);
  set_place(e, index);
  blockDim = launch->block;
  gridDim = launch->grid;
  const size_t open = launch->judged ? SIM_MAX_SHARED_BYTES : launch->shared_bytes; // a judged kernel's has guards
  ASAN_UNPOISON_MEMORY_REGION(e->dynamic_shared, open);
  ASAN_POISON_MEMORY_REGION(e->dynamic_shared + open, SIM_MAX_SHARED_BYTES - open);
  e->fault.error = cudaSuccess;
  e->inspected = inspection && sim_inspector->block_begin(inspection, index, e->dynamic_shared);
  // A kernel's uninstrumented version runs as fast as it can: descending order is to show other races.
  sim_set_ascending(e, launch->dual_version && !e->inspected);
  e->observed = launch->judged || e->inspected || (launch->inspected && !launch->dual_version);
  e->notified = e->inspected && !launch->judged;
  if (launch->judged) {
    sim_store_buffer_block_begin();
    sim_shared_block_begin(e);
  }
  cudasim_coarsened = (struct cudasim_blocks){.offered = most > 1 ? max_coarsening(launch, most) : 1};
  sim_watch_begin(e);
  sim_run_threads(e);
  const unsigned int taken = cudasim_coarsened.taken;
  struct sim_blocks_ran ran = {.count = taken > 1 ? taken : 1, .independent = taken > 0 || e->ran_as_loop};
  if (e->fault.error != cudaSuccess)
    find_faulting_thread(e, index, ran.count);
  if (launch->judged)
    judged_block_end(e);
  sim_watch_end();
  sim_print_flush(e);
  cudasim_thread = &nowhere;
  blockIdx = (struct uint3){0, 0, 0};
  blockDim = gridDim = (struct cudasim_dim3){1, 1, 1};
  if (e->inspected)
    sim_inspector->block_end();
  ran.error = e->error;
  return ran;
}
