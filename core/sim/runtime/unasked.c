// A launch that failed, and whose error the program never asks for.
#include "sim/runtime/unasked.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/engine/block.h"
#include "sim/engine/crash.h"
#include "sim/base/sim.h"

static struct {
  bool unasked;
  pthread_t thread;
  struct cudasim_dim3 grid, block;
  char name[128];
  cudaError_t error;
  const void *caller;
} failed; // under sim.lock

static void say_why(void) {
  const struct cudasim_dim3 grid = failed.grid, block = failed.block;
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (threads > SIM_MAX_BLOCK_THREADS)
    fprintf(stderr, "  A block has at most %d threads. This one would have %llu.\n", SIM_MAX_BLOCK_THREADS, threads);
  else if (threads == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0)
    fprintf(stderr, "  A grid has at least one block, and a block at least one thread.\n");
}

static void report(void) {
  if (!failed.unasked)
    return;
  fprintf(stderr,
          "cudasim: a launch failed, and the program did not ask for the error (cudaGetLastError): %s\n"
          "  kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>>\n",
          cudaGetErrorString(failed.error), failed.name, failed.grid.x, failed.grid.y, failed.grid.z, failed.block.x,
          failed.block.y, failed.block.z);
  sim_crash_tell_line((const char *)failed.caller - 1);
  say_why();
}

static void keep(const struct cudasim_launch_request *request, cudaError_t error, const void *caller) {
  static bool registered;
  sim_lock();
  if (!failed.unasked) {
    failed.unasked = true;
    failed.thread = pthread_self();
    failed.grid = request->grid;
    failed.block = request->block;
    failed.error = error;
    failed.caller = caller;
    snprintf(failed.name, sizeof failed.name, "%s", request->name);
  }
  if (!registered)
    registered = atexit(report) == 0;
  sim_unlock();
}

// The error of cudaLaunchKernel, which has no name of the kernel's, is its result; that of <<<>>> has to be asked for. A failed device has
// been reported.
cudaError_t cudasim_launch(const struct cudasim_launch_request *request) {
  const void *const caller = __builtin_return_address(0);
  const cudaError_t error = sim_launch(request, caller);
  if (error != cudaSuccess && request->name && !sim_block_running() && sim_sticky(sim_current_device) == cudaSuccess)
    keep(request, error, caller);
  return error;
}

void sim_error_asked(void) {
  if (sim_block_running()) // whose launches are not kept
    return;
  sim_lock();
  if (failed.unasked && pthread_equal(failed.thread, pthread_self()))
    failed.unasked = false;
  sim_unlock();
}
