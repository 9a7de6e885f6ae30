// SPDX-License-Identifier: MIT
// Dynamic parallelism. A grid that a kernel launches runs when the launching block has ended, and before that block's
// launch is done. CUDA permits this order, and a GPU comes nearest to it: the block's other threads have finished their
// writes. Streams that kernels create do not matter: a thread's launches run in order.
#include "sim/engine/nested.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/block.h"
#include "sim/engine/block_internal.h"
#include "sim/base/work.h"
#include "sim/base/sim.h"
#include "sim/engine/watchdog.h"

struct grid {
  struct grid *next;
  struct cudasim_launch_request request;
  alignas(16) char closure[];
};

struct list {
  struct grid *first, **end; // end: NULL while it is empty
};

static __thread struct list launched; // by the blocks that ran on this thread

cudaError_t sim_nested_launch(const struct cudasim_launch_request *request) {
  if (request->cooperative)
    return cudaErrorNotSupported;
  struct grid *grid = sim_allocate(sizeof *grid + request->closure_bytes);
  grid->next = NULL;
  grid->request = *request;
  memcpy(grid->closure, request->closure, request->closure_bytes);
  grid->request.closure = grid->closure;
  *(launched.first ? launched.end : &launched.first) = grid;
  launched.end = &grid->next;
  return cudaSuccess;
}

static struct list take_launched(void) {
  const struct list taken = launched;
  launched = (struct list){0};
  return taken;
}

// Grids that a grid's blocks launch run before grids that were launched after that grid.
static cudaError_t run_list(struct list list, cudaError_t error) {
  while (list.first) {
    struct grid *grid = list.first;
    list.first = grid->next;
    const unsigned int blocks = grid->request.grid.x * grid->request.grid.y * grid->request.grid.z;
    for (unsigned int block = 0; block < blocks && error == cudaSuccess; block++)
      error = sim_block_run(&grid->request, block, NULL);
    struct list children = take_launched();
    if (children.first) {
      *children.end = list.first;
      list.first = children.first;
    }
    free(grid);
  }
  return error;
}

cudaError_t sim_nested_run(cudaError_t error) {
  return launched.first ? run_list(take_launched(), error) : error;
}

struct helper {
  struct list list;
  cudaError_t error;
};

static void *finish_grids(void *data) {
  struct helper *helper = data;
  sim_worker_prepare_thread();
  helper->error = run_list(helper->list, cudaSuccess);
  return NULL;
}

// On another thread, since this one is in the middle of a block.
void sim_nested_finish(void) {
  if (launched.first == NULL)
    return;
  sim_print_flush(sim_executor); // before what the grids print
  struct helper helper = {.list = take_launched()};
  pthread_t thread;
  if (pthread_create(&thread, NULL, finish_grids, &helper) != 0) {
    (void)run_list(helper.list, cudaErrorLaunchOutOfResources);
    sim_block_fail(cudaErrorLaunchOutOfResources);
  }
  sim_watch_end(); // this thread waits; the watchdog watches the other's blocks
  pthread_join(thread, NULL);
  sim_watch_begin(sim_executor);
  if (helper.error != cudaSuccess)
    sim_block_fail(helper.error);
}
