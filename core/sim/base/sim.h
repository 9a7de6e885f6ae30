// SPDX-License-Identifier: MIT
// The simulator's shared state and the small helpers that every file uses. Functions that need streams or blocks are defined in
// runtime/device.c; they are declared here because everything calls them. Nothing in sim/ raises: as in CUDA, functions
// return a cudaError_t, and what a kernel does wrong is reported on stderr and remembered by its device. Messages about
// kernels begin with "cudasim:", those about the environment and the machine with "ferry:".
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sim/base/config.h"
#include "cuda_runtime_api.h"
#include "sim/base/cudasim.h"
#include "sim/base/heap.h"

struct sim_device {
  int index;
  struct sim_heap heap;
  struct CUstream_st *legacy;  // the stream 0, which waits for all blocking streams and they for it
  struct CUstream_st *streams; // the others, linked by `next`
  _Atomic(cudaError_t) sticky; // the error that ended this device's work; every call returns it
  bool peer[SIM_MAX_DEVICES];  // kernels here may use that device's memory
};

struct sim_counters {
  atomic_ullong launches, matrix_products, fills, synchronizations, allocations, frees;
  atomic_ullong copies[4], bytes[4]; // by cudaMemcpyKind
  atomic_llong live_nodes;
};

struct sim_state {
  struct sim_config config;
  struct sim_device device[SIM_MAX_DEVICES];
  char *arena;               // all devices' memory, device by device, then host_heap
  size_t span;               // bytes from one device's memory to the next
  struct sim_heap host_heap; // of pinned and managed memory, where an inspector is linked in
  struct sim_ranges pinned;
  pthread_mutex_t lock; // of nodes, streams, heaps and ranges; held briefly, never while an operation runs
  struct sim_counters counters;
  bool forked; // this process is a child of the one that initialized the simulator
};

extern struct sim_state sim __asm__("sim_state");
extern __thread int sim_current_device;

// Every API function begins here: initializes at the first call. Fails in a forked child, as CUDA does.
cudaError_t sim_enter(void);

// Remembers a failure for cudaGetLastError, and returns it.
cudaError_t sim_fail(cudaError_t error);

#define SIM_TRY(call)                                                                                                  \
  do {                                                                                                                 \
    cudaError_t sim_error = (call);                                                                                    \
    if (sim_error != cudaSuccess)                                                                                      \
      return sim_fail(sim_error);                                                                                      \
  } while (0)

// Flags that a call does not know are a mistake, as on a GPU: cudaErrorInvalidValue.
static inline cudaError_t sim_known_flags(unsigned long long flags, unsigned long long known) {
  return flags & ~known ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t sim_sticky(int device);
void sim_set_sticky(int device, cudaError_t error);
bool sim_is_device(int device);

void sim_lock(void);
void sim_unlock(void);

#define SIM_COUNT(counter, amount)                                                                                     \
  ((void)atomic_fetch_add_explicit(&sim.counters.counter, amount, memory_order_relaxed))

// Count a kernel (in one of sim.counters) or a copy, and notify plugins.
void sim_count_kernel(atomic_ullong *counter);
void sim_count_copy(enum cudaMemcpyKind kind, size_t bytes, bool within_device);
void sim_count_quietly(bool quietly); // true: on this thread, without notifying plugins

long long sim_now(void); // nanoseconds of CLOCK_MONOTONIC

// Memory of the simulator itself; ends the program when there is none.
void *sim_allocate(size_t bytes);
void *sim_resize(void *memory, size_t bytes);

#endif
