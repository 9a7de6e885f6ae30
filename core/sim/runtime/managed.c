// SPDX-License-Identifier: MIT
// Memory that the host and the devices share. There is one memory here, so that nothing moves: managed memory is pinned memory
// that copies take for either side's. A kernel and the host may use it at once, as on devices with concurrentManagedAccess.
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

cudaError_t cudaMallocManaged(void **pointer, size_t bytes, unsigned int flags) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_sticky(sim_current_device));
  if (pointer == NULL || bytes == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
    return sim_fail(cudaErrorInvalidValue);
  SIM_TRY(sim_host_allocate(pointer, bytes, true, __builtin_return_address(0)));
  SIM_COUNT(allocations, 1);
  return cudaSuccess;
}

static atomic_bool host_computes;

void cudasim_host_computes(void) {
  atomic_store(&host_computes, true);
}

bool sim_host_computes(void) {
  return atomic_load(&host_computes);
}

static cudaError_t check_managed(const void *pointer, size_t bytes) {
  SIM_TRY(sim_enter());
  return pointer && bytes > 0 && sim_is_managed(pointer) ? cudaSuccess : sim_fail(cudaErrorInvalidValue);
}

static cudaError_t check_location(struct cudaMemLocation location) {
  return location.type == cudaMemLocationTypeDevice && !sim_is_device(location.id) ? sim_fail(cudaErrorInvalidDevice)
                                                                                   : cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, struct cudaMemLocation location, unsigned int flags,
                                 cudaStream_t handle) {
  struct CUstream_st *stream;
  SIM_TRY(check_managed(pointer, bytes));
  SIM_TRY(check_location(location));
  SIM_TRY(sim_known_flags(flags, 0));
  return sim_fail(sim_stream_get(handle, &stream));
}

cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice,
                          struct cudaMemLocation location) {
  SIM_TRY(check_managed(pointer, bytes));
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
    return sim_fail(cudaErrorInvalidValue);
  return advice <= cudaMemAdviseUnsetReadMostly ? cudaSuccess : check_location(location);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void *pointer, size_t bytes, unsigned int flags) {
  struct CUstream_st *stream;
  SIM_TRY(check_managed(pointer, bytes ? bytes : 1));
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
    return sim_fail(cudaErrorInvalidValue);
  return sim_fail(sim_stream_get(handle, &stream));
}

// From now on kernels may be given its address, and copies take it for a device's.
cudaError_t cudasim_symbol_address(void **pointer, const void *symbol, size_t bytes) {
  SIM_TRY(sim_enter());
  if (pointer == NULL || symbol == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *pointer = (void *)(uintptr_t)symbol;
  return sim_is_managed(symbol) ? cudaSuccess : sim_fail(sim_pin(*pointer, bytes, false, true));
}
