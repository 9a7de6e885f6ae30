// SPDX-License-Identifier: MIT
// Memory pools: a name for a device's memory, with settings that are remembered.
#include <stdint.h>
#include <stdlib.h>

#include "cudasim_pool.h"
#include "sim/runtime/memory.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"

struct CUmemPoolHandle_st {
  int device;
  bool ready;   // of a default pool: set up
  int reuse[4]; // by attribute
  uint64_t threshold;
};

static struct CUmemPoolHandle_st defaults[SIM_MAX_DEVICES];
static struct CUmemPoolHandle_st *current[SIM_MAX_DEVICES]; // NULL: the default

static void set_up(struct CUmemPoolHandle_st *pool, int device) {
  *pool = (struct CUmemPoolHandle_st){.device = device, .ready = true, .reuse = {0, 1, 1, 1}};
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  SIM_TRY(sim_enter());
  if (pool == NULL)
    return sim_fail(cudaErrorInvalidValue);
  if (!sim_is_device(device))
    return sim_fail(cudaErrorInvalidDevice);
  sim_lock();
  if (!defaults[device].ready)
    set_up(&defaults[device], device);
  sim_unlock();
  *pool = &defaults[device];
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) {
  cudaError_t error = cudaDeviceGetDefaultMemPool(pool, device);
  if (error == cudaSuccess && current[device])
    *pool = current[device];
  return error;
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(device))
    return sim_fail(cudaErrorInvalidDevice);
  if (pool == NULL || pool->device != device)
    return sim_fail(cudaErrorInvalidValue);
  current[device] = pool;
  return cudaSuccess;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
  SIM_TRY(sim_enter());
  if (pool == NULL || props == NULL || props->allocType != cudaMemAllocationTypePinned ||
      props->location.type != cudaMemLocationTypeDevice)
    return sim_fail(cudaErrorInvalidValue);
  if (!sim_is_device(props->location.id))
    return sim_fail(cudaErrorInvalidDevice);
  if (props->handleTypes != cudaMemHandleTypeNone)
    return sim_fail(cudaErrorNotSupported);
  *pool = sim_allocate(sizeof **pool);
  set_up(*pool, props->location.id);
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  SIM_TRY(sim_enter());
  if (pool == NULL || pool == &defaults[pool->device])
    return sim_fail(cudaErrorInvalidValue);
  if (current[pool->device] == pool)
    current[pool->device] = NULL;
  free(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  (void)bytes;
  return pool ? cudaSuccess : sim_fail(cudaErrorInvalidValue);
}

static bool is_reuse(enum cudaMemPoolAttr attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolReuseAllowInternalDependencies;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  if (pool == NULL || value == NULL)
    return sim_fail(cudaErrorInvalidValue);
  if (is_reuse(attribute))
    pool->reuse[attribute] = *(const int *)value;
  else if (attribute == cudaMemPoolAttrReleaseThreshold)
    pool->threshold = *(const uint64_t *)value;
  else
    return sim_fail(cudaErrorNotSupported);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  if (pool == NULL || value == NULL)
    return sim_fail(cudaErrorInvalidValue);
  if (is_reuse(attribute))
    *(int *)value = pool->reuse[attribute];
  else if (attribute == cudaMemPoolAttrReleaseThreshold)
    *(uint64_t *)value = pool->threshold;
  else
    return sim_fail(cudaErrorNotSupported);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count) {
  SIM_TRY(sim_enter());
  if (pool == NULL || (list == NULL && count > 0))
    return sim_fail(cudaErrorInvalidValue);
  for (size_t i = 0; i < count; i++) {
    const int device = list[i].location.id;
    if (list[i].location.type != cudaMemLocationTypeDevice || !sim_is_device(device))
      return sim_fail(cudaErrorInvalidDevice);
    if (device != pool->device)
      sim.device[device].peer[pool->device] = list[i].flags == cudaMemAccessFlagsProtReadWrite;
    else if (list[i].flags != cudaMemAccessFlagsProtReadWrite)
      return sim_fail(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location) {
  SIM_TRY(sim_enter());
  if (pool == NULL || flags == NULL || location == NULL || !sim_is_device(location->id))
    return sim_fail(cudaErrorInvalidValue);
  const bool may = location->id == pool->device || sim.device[location->id].peer[pool->device];
  *flags = may ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t handle) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (pool == NULL)
    return sim_fail(cudaErrorInvalidValue);
  if (pool->device != stream->device)
    return sim_fail(cudaErrorNotSupported);
  return sim_allocate_in_stream(pointer, bytes, handle, __builtin_return_address(0));
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID id, const cudaStreamAttrValue *value) {
  SIM_TRY(sim_enter());
  struct CUstream_st *stream;
  SIM_TRY(sim_stream_get(handle, &stream));
  if (value == NULL || (id == cudaStreamAttributeAccessPolicyWindow &&
                        !(value->accessPolicyWindow.hitRatio >= 0 && value->accessPolicyWindow.hitRatio <= 1)))
    return sim_fail(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void) {
  return sim_enter();
}
