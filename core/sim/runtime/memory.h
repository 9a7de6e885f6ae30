// Whose memory an address is, and who may touch device memory when.
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "cuda_runtime_api.h"
#include "sim/base/address.h"

// Reserves the devices' address space; called once.
void sim_memory_init(void);

bool sim_is_pinned(const void *address);
// Memory that both the host and the devices call their own (pinned, too).
bool sim_is_managed(const void *address);

// Adds memory of the host to what devices may use; with `owned` it is the simulator's own.
cudaError_t sim_pin(void *pointer, size_t bytes, bool owned, bool managed);
// The same, allocated; and given back, once nothing uses it any more.
cudaError_t sim_host_allocate(void **pointer, size_t bytes, bool managed, const void *caller);
cudaError_t sim_host_free(void *pointer, bool managed);

// cudaErrorInvalidValue unless the bytes are outside every device's memory or within one live allocation.
cudaError_t sim_range_check(const void *address, size_t bytes);

// NULL when a kernel on `device` may use the address, else what is wrong with it.
const char *sim_pointer_fault(const void *address, int device);

// Device memory is accessible between the two; they nest, and threads may overlap. With guards off they do nothing. In the threads
// mode it stays accessible after the last end until sim_access_settle: closing it after each operation would cost more than the operations.
void sim_access_begin(void);
void sim_access_end(void);
void sim_access_settle(void); // host code goes on, or a worker has nothing to do
// Around host code that an operation calls: all that this thread has begun. The result is for resume.
int sim_access_pause(void);
void sim_access_resume(int paused);

// Ends the allocation at once; the caller sees to it that nothing uses it any more.
cudaError_t sim_release(void *address);
// cudaMallocAsync, which this one has called.
cudaError_t sim_allocate_in_stream(void **pointer, size_t bytes, cudaStream_t stream, const void *caller);

// A graph has it (graph_memory.c): it is never given back.
bool sim_graph_keeps(const void *pointer);
// Of the devices' memory in use: graphs' memory that the program or a graph has freed. It stays, for a graph that runs again.
size_t sim_graph_freed_bytes(void);

#endif
