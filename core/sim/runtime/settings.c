// SPDX-License-Identifier: MIT
// Settings that tune a GPU: checked and stored, without effect here.
#include "sim/base/sim.h"

enum { LIMITS = cudaLimitPersistingL2CacheSize + 1 };

static _Atomic unsigned int device_flags = cudaDeviceMapHost;
static _Atomic size_t limits[LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};
static _Atomic int cache_config, shared_config;

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_known_flags(flags, 0x3f));
  device_flags = flags;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags) {
  SIM_TRY(sim_enter());
  if (flags == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *flags = device_flags;
  return cudaSuccess;
}

cudaError_t cudaInitDevice(int device, unsigned int flags, unsigned int which) {
  SIM_TRY(sim_enter());
  SIM_TRY(sim_known_flags(which, cudaInitDeviceFlagsAreValid));
  if (!sim_is_device(device))
    return sim_fail(cudaErrorInvalidDevice);
  return which ? cudaSetDeviceFlags(flags) : cudaSuccess;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *properties) {
  SIM_TRY(sim_enter());
  if (device == NULL || properties == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *device = 0; // they are all alike
  return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attribute, int device, int peer) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(device) || !sim_is_device(peer) || device == peer)
    return sim_fail(cudaErrorInvalidDevice);
  if (value == NULL)
    return sim_fail(cudaErrorInvalidValue);
  *value = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  SIM_TRY(sim_enter());
  if ((unsigned int)limit >= LIMITS)
    return sim_fail(cudaErrorInvalidValue);
  limits[limit] = value;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  SIM_TRY(sim_enter());
  if (value == NULL || (unsigned int)limit >= LIMITS)
    return sim_fail(cudaErrorInvalidValue);
  *value = limits[limit];
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
  SIM_TRY(sim_enter());
  cache_config = (int)config;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
  SIM_TRY(sim_enter());
  *config = (enum cudaFuncCache)cache_config;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
  SIM_TRY(sim_enter());
  shared_config = (int)config;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
  SIM_TRY(sim_enter());
  *config = (enum cudaSharedMemConfig)shared_config;
  return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config) {
  SIM_TRY(sim_enter());
  (void)config;
  return function ? cudaSuccess : sim_fail(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config) {
  SIM_TRY(sim_enter());
  (void)config;
  return function ? cudaSuccess : sim_fail(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaProfilerStart(void) {
  return cudaSuccess;
}

cudaError_t cudaProfilerStop(void) {
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int threads,
                                                                   size_t shared_bytes, unsigned int flags) {
  SIM_TRY(sim_known_flags(flags, cudaOccupancyDisableCachingOverride));
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared_bytes);
}
