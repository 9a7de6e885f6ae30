// SPDX-License-Identifier: MIT
// Pinned host memory, and managed memory, which is pinned memory here: ordinary memory on a list. Where an inspector
// is linked in it comes after the devices' memory, so that the inspector sees accesses to it as those to device
// memory.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

bool sim_is_pinned(const void *address) {
  sim_lock();
  bool pinned = sim_ranges_find(&sim.pinned, address) != NULL;
  sim_unlock();
  return pinned;
}

bool sim_is_managed(const void *address) {
  sim_lock();
  const struct sim_range *range = sim_ranges_find(&sim.pinned, address);
  bool managed = range && range->managed;
  sim_unlock();
  return managed;
}

// ---- what is on the list ----

cudaError_t sim_pin(void *pointer, size_t bytes, bool owned, bool managed) {
  sim_lock();
  bool added = sim_ranges_add(&sim.pinned, (struct sim_range){pointer, bytes, owned, managed});
  sim_unlock();
  return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
}

static cudaError_t unpin(void *pointer, bool owned, bool managed, cudaError_t otherwise) {
  for (int device = 0; device < sim.config.devices; device++) // kernels and copies may still be using it
    sim_stream_drain(device);
  sim_lock();
  const struct sim_range *found = sim_ranges_find(&sim.pinned, pointer);
  struct sim_range removed;
  bool good =
      found && found->owned == owned && found->managed == managed && sim_ranges_remove(&sim.pinned, pointer, &removed);
  sim_unlock();
  return good ? cudaSuccess : otherwise;
}

// ---- allocations ----

// sim.lock is held. A heap's pages cannot be used before they are opened.
static bool open_pages(const struct sim_heap *heap) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return mprotect(heap->base, (heap->reach + page - 1) / page * page, PROT_READ | PROT_WRITE) == 0;
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  bool grown = false;
  if (sim_inspector == NULL)
    return posix_memalign(&memory, 256, bytes) == 0 ? memory : NULL;
  sim_lock();
  memory = sim_heap_take(&sim.host_heap, bytes, &grown);
  if (memory && grown && !open_pages(&sim.host_heap)) {
    sim_heap_give(&sim.host_heap, memory);
    memory = NULL;
  }
  sim_unlock();
  return memory;
}

static void deallocate(void *memory) {
  if (sim_inspector == NULL) {
    free(memory);
    return;
  }
  SIM_NOTIFY(freed, (memory));
  sim_lock();
  sim_heap_give(&sim.host_heap, memory);
  sim_unlock();
}

cudaError_t sim_host_allocate(void **pointer, size_t bytes, bool managed, const void *caller) {
  void *memory = allocate(bytes);
  if (memory == NULL)
    return cudaErrorMemoryAllocation;
  if (managed || sim_inspector)
    memset(memory, sim.config.zeroed ? 0 : 0xff, bytes);
  const cudaError_t error = sim_pin(memory, bytes, true, managed);
  if (error != cudaSuccess) {
    deallocate(memory);
    return error;
  }
  SIM_NOTIFY(host_allocated, (memory, bytes, managed, caller));
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t sim_host_free(void *pointer, bool managed) {
  const cudaError_t error = unpin(pointer, true, managed, cudaErrorInvalidValue);
  if (error == cudaSuccess)
    deallocate(pointer);
  return error;
}

static cudaError_t allocate_pinned(void **pointer, size_t bytes, unsigned int flags, const void *caller) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_known_flags(flags, cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined));
  if (pointer == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *pointer = NULL;
  return bytes == 0 ? cudaSuccess : sim_fail(sim_host_allocate(pointer, bytes, false, caller));
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags) {
  return allocate_pinned(pointer, bytes, flags, __builtin_return_address(0));
}

cudaError_t cudaMallocHost(void **pointer, size_t bytes) {
  return allocate_pinned(pointer, bytes, cudaHostAllocDefault, __builtin_return_address(0));
}

cudaError_t cudaFreeHost(void *pointer) {
  SIM_TRY(sim_enter());
  if (pointer == NULL)
    return cudaSuccess;
  SIM_TRY(sim_capture_forbids());
  return sim_fail(sim_host_free(pointer, false));
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_known_flags(flags, cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly));
  if (pointer == NULL || bytes == 0 || sim_device_of(pointer) >= 0)
    return sim_fail(cudaErrorInvalidValue);
  return sim_fail(sim_pin(pointer, bytes, false, false));
}

cudaError_t cudaHostUnregister(void *pointer) {
  SIM_TRY(sim_enter());
  return sim_fail(unpin(pointer, false, false, cudaErrorHostMemoryNotRegistered));
}

cudaError_t cudaHostGetFlags(unsigned int *flags, void *host) {
  SIM_TRY(sim_enter());
  if (flags == NULL || !sim_is_pinned(host))
    return sim_fail(cudaErrorInvalidValue);
  *flags = cudaHostAllocPortable | cudaHostAllocMapped; // all of it is
  return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned int flags) {
  SIM_TRY(sim_enter());
  if (device == NULL || flags != 0 || !sim_is_pinned(host))
    return sim_fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}
