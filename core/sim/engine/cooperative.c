// SPDX-License-Identifier: MIT
// Cooperative launches: every block runs on its own operating-system thread. grid.sync() is a barrier of these threads
// between two barriers of the block.
#include "sim/engine/cooperative.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/engine/block_internal.h"
#include "sim/base/plugin.h"
#include "sim/engine/nested.h"
#include "sim/base/work.h"
#include "sim/base/sim.h"

struct grid {
  const struct cudasim_launch_request *request;
  pthread_mutex_t lock;
  pthread_cond_t opened;
  unsigned int blocks, running, arrived, phase;
  unsigned int returned; // a block that has, if fewer are running
  cudaError_t error;
  void *inspection; // an inspector's
};

struct member {
  struct grid *grid;
  unsigned int block;
  pthread_t thread;
  bool started;
};

static __thread struct grid *current_grid;

// grid->lock is held.
static void open_when_complete(struct grid *grid) {
  if (grid->arrived < grid->blocks)
    return;
  grid->arrived = 0;
  grid->phase++;
  pthread_cond_broadcast(&grid->opened);
}

static void *run_member(void *data) {
  struct member *self = data;
  struct grid *grid = self->grid;
  sim_worker_prepare_thread();
  current_grid = grid;
  cudaError_t error = sim_nested_run(sim_block_run(grid->request, self->block, grid->inspection));
  current_grid = NULL;
  pthread_mutex_lock(&grid->lock);
  grid->running--;
  grid->returned = self->block;
  if (grid->error == cudaSuccess)
    grid->error = error;
  pthread_cond_broadcast(&grid->opened); // who waits for this block waits in vain
  pthread_mutex_unlock(&grid->lock);
  return NULL;
}

cudaError_t sim_cooperative_run(const struct cudasim_launch_request *request, unsigned int blocks) {
  struct grid grid = {.request = request,
                      .lock = PTHREAD_MUTEX_INITIALIZER,
                      .opened = PTHREAD_COND_INITIALIZER,
                      .blocks = blocks,
                      .running = blocks};
  struct member *members = sim_allocate(blocks * sizeof *members);
  if (sim_inspector)
    grid.inspection = sim_inspector->launch_begin(request, blocks);
  bool good = true;
  pthread_mutex_lock(&grid.lock); // no block reaches the barrier before all threads have started
  for (unsigned int i = 0; i < blocks; i++) {
    members[i] = (struct member){.grid = &grid, .block = i};
    members[i].started = good && pthread_create(&members[i].thread, NULL, run_member, &members[i]) == 0;
    good = good && members[i].started;
    if (!members[i].started)
      grid.running--;
  }
  if (!good) {
    fprintf(stderr, "cudasim: no thread to be had for each of the %u blocks of a cooperative launch\n", blocks);
    grid.error = cudaErrorLaunchOutOfResources;
  }
  pthread_mutex_unlock(&grid.lock);
  for (unsigned int i = 0; i < blocks; i++)
    if (members[i].started)
      pthread_join(members[i].thread, NULL);
  free(members);
  if (grid.inspection)
    sim_inspector->launch_end(grid.inspection);
  return grid.error;
}

int cudasim_is_cooperative(void) {
  return current_grid != NULL;
}

static void report_incomplete(const char *file, int line, unsigned int returned) {
  char what[120];
  snprintf(what, sizeof what, "divergent grid.sync(): block %u has returned without reaching it", returned);
  sim_report(sim_executor, what);
  if (sim_executor->inspected)
    sim_inspector->divergent_grid(file, line, returned);
}

void cudasim_grid_barrier(const char *file, int line) {
  struct grid *grid = current_grid;
  if (grid == NULL)
    cudasim_refuse("grid.sync() in a launch that is not cooperative (cudaLaunchCooperativeKernel)", file, line);
  cudasim_barrier(file, line);
  cudaError_t error = cudaSuccess;
  if (sim_executor->current == 0) {
    const bool inspected = sim_executor->inspected;
    pthread_mutex_lock(&grid->lock);
    const unsigned int phase = grid->phase;
    if (inspected) {
      sim_inspector->grid_barrier(phase, true);
      sim_inspector->pause(true);
    }
    grid->arrived++;
    open_when_complete(grid);
    while (grid->phase == phase && grid->error == cudaSuccess && grid->running == grid->blocks)
      pthread_cond_wait(&grid->opened, &grid->lock);
    const bool incomplete = grid->phase == phase && grid->error == cudaSuccess;
    const unsigned int returned = grid->returned;
    if (incomplete) {
      grid->error = cudaErrorIllegalAddress;
      pthread_cond_broadcast(&grid->opened);
    }
    error = grid->error;
    pthread_mutex_unlock(&grid->lock);
    if (inspected) {
      sim_inspector->pause(false);
      sim_inspector->grid_barrier(phase, false);
    }
    if (incomplete)
      report_incomplete(file, line, returned);
  }
  if (error != cudaSuccess)
    sim_give_up(sim_executor, error);
  cudasim_barrier(file, line);
}
