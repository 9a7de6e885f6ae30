// SPDX-License-Identifier: MIT
// Launches: kernel attributes, the checks of a launch, and queueing it. engine/grid.c runs it.
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/block_internal.h"
#include "sim/runtime/clock.h"
#include "sim/engine/cooperative.h"
#include "sim/engine/grid.h"
#include "sim/base/cudasim.h"
#include "cudasim_launch.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "model/kernel.h"
#include "sim/engine/nested.h"
#include "sim/runtime/node.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"
#include "sim/runtime/unchecked_error.h"

enum {
  DEFAULT_SHARED_BYTES = 49152,
  SHARED_BYTES_PER_SM = 233472,
  RESERVED_SHARED_BYTES = 1024,
  MAX_THREADS_PER_SM = 2048,
  MAX_BLOCKS_PER_SM = 32
};

struct launch_work {
  struct sim_work base;
  struct cudasim_launch_request request;
  int device;
  alignas(16) char closure[];
};

static cudaError_t run_launch(struct sim_work *base) {
  const struct launch_work *work = (const struct launch_work *)base;
  return sim_grid_run(&work->request, work->device, base);
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

// The guess until a plugin has counted: each thread reads and writes four bytes, coalesced.
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
