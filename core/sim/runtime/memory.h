// SPDX-License-Identifier: MIT
// Kinds of memory, and the guard that makes device memory inaccessible to host code.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_runtime_api.h"
#include "sim/base/address.h"

// Reserves the devices' address space; called once.
void sim_memory_init(void);

bool sim_is_pinned(const void *address);
// Managed memory, which is pinned as well: both the host and the devices may use it.
bool sim_is_managed(const void *address);

// Adds host memory to the memory that devices may use; `owned`: the simulator has allocated it.
cudaError_t sim_pin(void *pointer, size_t bytes, bool owned, bool managed);
// Allocates such memory; frees it when nothing uses it any more.
cudaError_t sim_host_allocate(void **pointer, size_t bytes, bool managed, const void *caller);
cudaError_t sim_host_free(void *pointer, bool managed);

// cudaErrorInvalidValue unless the bytes are outside every device's memory or within one live allocation.
cudaError_t sim_range_check(const void *address, size_t bytes);

// NULL when a kernel on `device` may use the address, else what is wrong with it.
const char *sim_pointer_fault(const void *address, int device);

// Device memory is accessible between begin and end. They nest, and threads may overlap. Without the guard they do nothing. In
// the threads mode it stays accessible after the last end until sim_access_settle: closing it after each operation
// would cost more than the operations.
void sim_access_begin(void);
void sim_access_end(void);
void sim_access_settle(void); // when host code continues, or a worker is idle
// Around host code that an operation calls: ends this thread's accesses until resume, which takes the result.
int sim_access_pause(void);
void sim_access_resume(int paused);

// Frees at once; the caller makes sure that nothing uses the memory any more.
cudaError_t sim_release(void *address);
// cudaMallocAsync, called by `caller`.
cudaError_t sim_allocate_in_stream(void **pointer, size_t bytes, cudaStream_t stream, const void *caller);

// The memory belongs to a graph (graph_memory.c) and is never returned to the heap.
bool sim_graph_keeps(const void *pointer);
// Bytes of graphs' memory that the program or a graph has freed. They count as used, since a graph may run again.
size_t sim_graph_freed_bytes(void);

#endif
