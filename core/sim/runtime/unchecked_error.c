// SPDX-License-Identifier: MIT
// Reports a failed launch whose error the program never checks.
#include "sim/runtime/unchecked_error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/engine/block.h"
#include "sim/engine/crash.h"
#include "sim/base/sim.h"

static struct {
  bool unchecked;
  pthread_t thread;
  struct cudasim_dim3 grid, block;
  char name[128];
  cudaError_t error;
  const void *caller;
} failed; // under sim.lock

static void print_reason(void) {
  const struct cudasim_dim3 grid = failed.grid, block = failed.block;
  const unsigned long long threads = (unsigned long long)block.x * block.y * block.z;
  if (threads > SIM_MAX_BLOCK_THREADS)
    fprintf(stderr, "  A block has at most %d threads. This one would have %llu.\n", SIM_MAX_BLOCK_THREADS, threads);
  else if (threads == 0 || grid.x == 0 || grid.y == 0 || grid.z == 0)
    fprintf(stderr, "  A grid has at least one block, and a block at least one thread.\n");
}

static void report_failure(void) {
  if (!failed.unchecked)
    return;
  fprintf(stderr,
          "cudasim: a launch failed, and the program did not ask for the error (cudaGetLastError): %s\n"
          "  kernel %s <<<(%u,%u,%u), (%u,%u,%u)>>>\n",
          cudaGetErrorString(failed.error), failed.name, failed.grid.x, failed.grid.y, failed.grid.z, failed.block.x,
          failed.block.y, failed.block.z);
  sim_crash_tell_line((const char *)failed.caller - 1);
  print_reason();
}

static void remember_failure(const struct cudasim_launch_request *request, cudaError_t error, const void *caller) {
  static bool registered;
  sim_lock();
  if (!failed.unchecked) {
    failed.unchecked = true;
    failed.thread = pthread_self();
    failed.grid = request->grid;
    failed.block = request->block;
    failed.error = error;
    failed.caller = caller;
    snprintf(failed.name, sizeof failed.name, "%s", request->name);
  }
  if (!registered)
    registered = atexit(report_failure) == 0;
  sim_unlock();
}

// Of launches by <<<>>>, which carry a kernel name: cudaLaunchKernel returns its error. A device that has failed has been
// reported already.
cudaError_t cudasim_launch(const struct cudasim_launch_request *request) {
  const void *const caller = __builtin_return_address(0);
  const cudaError_t error = sim_launch(request, caller);
  if (error != cudaSuccess && request->name && !sim_block_running() && sim_sticky(sim_current_device) == cudaSuccess)
    remember_failure(request, error, caller);
  return error;
}

void sim_error_checked(void) {
  if (sim_block_running()) // whose launches are not kept
    return;
  sim_lock();
  if (failed.unchecked && pthread_equal(failed.thread, pthread_self()))
    failed.unchecked = false;
  sim_unlock();
}
