// SPDX-License-Identifier: MIT
// Devices: how many, which is current, what they can do, and whether they have failed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/engine/block_internal.h"
#include "sim/runtime/clock.h"
#include "sim/runtime/count.h"
#include "sim/engine/fault.h"
#include "sim/base/plugin.h"
#include "sim/runtime/memory.h"
#include "model/gpu.h"
#include "sim/base/sim.h"
#include "sim/runtime/stream.h"
#include "sim/runtime/unchecked_error.h"

// ---- the simulator itself ----

static void after_fork(void) {
  sim.forked = true;
}

static void initialize(void) {
  sim.config = sim_config_read();
  sim_memory_init();
  sim_fault_init();
  for (int i = 0; i < sim.config.devices; i++) {
    sim.device[i].index = i;
    sim.device[i].legacy = sim_stream_new(i, cudaStreamDefault, 0);
  }
  if (sim.config.gpu)
    sim_clock_start();
  pthread_atfork(NULL, NULL, after_fork);
  sim_count_start();
}

cudaError_t sim_enter(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize);
  return sim.forked ? cudaErrorInitializationError : cudaSuccess;
}

// Kernels come here, too: by their launches and copies.
void sim_lock(void) {
  if (sim_block_running())
    sim_critical_begin(sim_executor, NULL);
  pthread_mutex_lock(&sim.lock);
}

void sim_unlock(void) {
  pthread_mutex_unlock(&sim.lock);
  if (sim_block_running())
    sim_critical_end(sim_executor);
}

cudaError_t sim_sticky(int device) {
  return atomic_load(&sim.device[device].sticky);
}

void sim_set_sticky(int device, cudaError_t error) {
  cudaError_t none = cudaSuccess;
  atomic_compare_exchange_strong(&sim.device[device].sticky, &none, error);
}

bool sim_is_device(int device) {
  return device >= 0 && device < sim.config.devices;
}

// ---- choosing ----

cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
  SIM_TRY(sim_enter());
  *count = sim.config.devices;
  return cudaSuccess;
}

// A program that others wrote counts on the GPUs that it was written for.
static void tell_missing(int device) {
  static atomic_flag told = ATOMIC_FLAG_INIT;
  if (sim_config_is_program() && device >= 0 && device < SIM_MAX_DEVICES && !atomic_flag_test_and_set(&told))
    fprintf(stderr,
            "cudasim: warning: the program chose device %d, and there are %d. FERRY_SIM_DEVICES=%d simulates more\n",
            device, sim.config.devices, device + 1);
}

cudaError_t cudaSetDevice(int device) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(device)) {
    tell_missing(device);
    return sim_fail(cudaErrorInvalidDevice);
  }
  sim_current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device) {
  SIM_TRY(sim_enter());
  *device = sim_current_device;
  return cudaSuccess;
}

// Waits for the device, then forgets its error and its peers. Memory and streams stay, unlike CUDA's.
cudaError_t cudaDeviceReset(void) {
  SIM_TRY(sim_enter());
  struct sim_device *device = &sim.device[sim_current_device];
  sim_stream_drain(device->index);
  atomic_store(&device->sticky, cudaSuccess);
  memset(device->peer, 0, sizeof device->peer);
  SIM_NOTIFY(reset, (device->index));
  return cudaSuccess;
}

// ---- properties ----

// Where a property is a fact of this machine, the fact; else what a GPU of compute capability 9.0 has. The clocks and
// the bus stand for no hardware.
static const struct cudaDeviceProp common = {.name = "Simulated CUDA device (CPU)",
                                             .sharedMemPerBlock = 49152,
                                             .regsPerBlock = 65536,
                                             .warpSize = 32,
                                             .memPitch = 2147483647,
                                             .maxThreadsPerBlock = SIM_MAX_BLOCK_THREADS,
                                             .maxThreadsDim = {1024, 1024, 64},
                                             .maxGridSize = {2147483647, 65535, 65535},
                                             .totalConstMem = 65536,
                                             .major = 9,
                                             .minor = 0,
                                             .canMapHostMemory = 1,
                                             .concurrentKernels = 1,
                                             .asyncEngineCount = 2,
                                             .unifiedAddressing = 1,
                                             .memoryBusWidth = 64,
                                             .l2CacheSize = 1 << 20,
                                             .maxThreadsPerMultiProcessor = 2048,
                                             .streamPrioritiesSupported = 1,
                                             .sharedMemPerMultiprocessor = 233472,
                                             .regsPerMultiprocessor = 65536,
                                             .sharedMemPerBlockOptin = SIM_MAX_SHARED_BYTES,
                                             .maxBlocksPerMultiProcessor = 32,
                                             .reservedSharedMemPerBlock = 1024,
                                             .hostRegisterSupported = 1,
                                             .managedMemory = 1,
                                             .concurrentManagedAccess = 1,
                                             .textureAlignment = 512,
                                             .texturePitchAlignment = 32,
                                             .surfaceAlignment = 512,
                                             .globalL1CacheSupported = 1,
                                             .localL1CacheSupported = 1,
                                             .canUseHostPointerForRegisteredMem = 1,
                                             .deviceOverlap = 1,
                                             .cooperativeLaunch = 1,
                                             .singleToDoublePrecisionPerfRatio = 2,
                                             .memoryPoolsSupported = 1,
                                             .maxTexture1D = 131072,
                                             .maxTexture1DMipmap = 32768,
                                             .maxTexture1DLinear = 268435456,
                                             .maxTexture2D = {131072, 65536},
                                             .maxTexture2DMipmap = {32768, 32768},
                                             .maxTexture2DLinear = {131072, 65000, 2097120},
                                             .maxTexture2DGather = {32768, 32768},
                                             .maxTexture3D = {16384, 16384, 16384},
                                             .maxTextureCubemap = 32768,
                                             .maxTexture1DLayered = {32768, 2048},
                                             .maxTexture2DLayered = {32768, 32768, 2048},
                                             .maxTextureCubemapLayered = {32768, 2046}};
enum { CLOCK_KHZ = 1000000, MEMORY_CLOCK_KHZ = 1600000 };

// What the GPU's table says in the place of that.
static void copy_properties(const struct model_gpu *gpu, struct cudaDeviceProp *properties) {
  const struct model_architecture *a = gpu->architecture;
  snprintf(properties->name, sizeof properties->name, "Simulated %s (model)", gpu->name);
  properties->major = a->major;
  properties->minor = a->minor;
  properties->multiProcessorCount = (int)gpu->sms.value;
  properties->l2CacheSize = (int)(gpu->l2.value * 1024);
  properties->memoryBusWidth = (int)gpu->memory_bus.value;
  properties->asyncEngineCount = (int)gpu->copy_engines.value;
  properties->maxThreadsPerMultiProcessor = (int)a->threads.value;
  properties->maxBlocksPerMultiProcessor = (int)a->blocks.value;
  properties->regsPerMultiprocessor = (int)a->registers.value;
  properties->sharedMemPerMultiprocessor = (size_t)a->shared.value;
  properties->sharedMemPerBlockOptin = (size_t)a->shared_block.value;
  properties->reservedSharedMemPerBlock = a->major >= 8 ? 1024 : 0;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
  SIM_TRY(sim_enter());
  if (properties == NULL || !sim_is_device(device))
    return sim_fail(properties ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *properties = common;
  properties->totalGlobalMem = sim.config.memory_bytes;
  properties->multiProcessorCount = sim.config.workers;
  if (sim.config.gpu)
    copy_properties(sim.config.gpu, properties);
  if (properties->major >= 8) { // a hint, which changes nothing here
    properties->persistingL2CacheMaxSize = properties->l2CacheSize / 4 * 3;
    properties->accessPolicyMaxWindowSize = properties->persistingL2CacheMaxSize;
  }
  properties->clockRate = sim.config.gpu ? (int)(sim.config.gpu->clock.value * 1000) : CLOCK_KHZ;
  properties->memoryClockRate = sim.config.gpu ? (int)(sim.config.gpu->memory_clock.value * 1000) : MEMORY_CLOCK_KHZ;
  properties->pciBusID = device + 1;
  memcpy(properties->uuid.bytes, "ferry-sim-dev-", 14);
  properties->uuid.bytes[15] = (char)device;
  return cudaSuccess;
}

static int attribute_value(enum cudaDeviceAttr attribute, const struct cudaDeviceProp *p, bool *known) {
  switch (attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
    return p->maxThreadsPerBlock;
  case cudaDevAttrMaxBlockDimX:
  case cudaDevAttrMaxBlockDimY:
  case cudaDevAttrMaxBlockDimZ:
    return p->maxThreadsDim[attribute - cudaDevAttrMaxBlockDimX];
  case cudaDevAttrMaxGridDimX:
  case cudaDevAttrMaxGridDimY:
  case cudaDevAttrMaxGridDimZ:
    return p->maxGridSize[attribute - cudaDevAttrMaxGridDimX];
  case cudaDevAttrMaxSharedMemoryPerBlock:
    return (int)p->sharedMemPerBlock;
  case cudaDevAttrTotalConstantMemory:
    return (int)p->totalConstMem;
  case cudaDevAttrWarpSize:
    return p->warpSize;
  case cudaDevAttrMaxRegistersPerBlock:
    return p->regsPerBlock;
  case cudaDevAttrClockRate:
    return p->clockRate;
  case cudaDevAttrMultiProcessorCount:
    return p->multiProcessorCount;
  case cudaDevAttrMemoryClockRate:
    return p->memoryClockRate;
  case cudaDevAttrGlobalMemoryBusWidth:
    return p->memoryBusWidth;
  case cudaDevAttrL2CacheSize:
    return p->l2CacheSize;
  case cudaDevAttrMaxThreadsPerMultiProcessor:
    return p->maxThreadsPerMultiProcessor;
  case cudaDevAttrAsyncEngineCount:
    return p->asyncEngineCount;
  case cudaDevAttrPciBusId:
    return p->pciBusID;
  case cudaDevAttrComputeCapabilityMajor:
    return p->major;
  case cudaDevAttrComputeCapabilityMinor:
    return p->minor;
  case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
    return (int)p->sharedMemPerMultiprocessor;
  case cudaDevAttrMaxRegistersPerMultiprocessor:
    return p->regsPerMultiprocessor;
  case cudaDevAttrMaxSharedMemoryPerBlockOptin:
    return (int)p->sharedMemPerBlockOptin;
  case cudaDevAttrMaxBlocksPerMultiprocessor:
    return p->maxBlocksPerMultiProcessor;
  case cudaDevAttrReservedSharedMemoryPerBlock:
    return (int)p->reservedSharedMemPerBlock;
  case cudaDevAttrTextureAlignment:
    return (int)p->textureAlignment;
  case cudaDevAttrSingleToDoublePrecisionPerfRatio:
    return p->singleToDoublePrecisionPerfRatio;
  case cudaDevAttrGpuOverlap:
  case cudaDevAttrCooperativeLaunch:
  case cudaDevAttrManagedMemory:
  case cudaDevAttrConcurrentManagedAccess:
  case cudaDevAttrCanUseHostPointerForRegisteredMem:
  case cudaDevAttrCanMapHostMemory:
  case cudaDevAttrConcurrentKernels:
  case cudaDevAttrUnifiedAddressing:
  case cudaDevAttrStreamPrioritiesSupported:
  case cudaDevAttrHostRegisterSupported:
  case cudaDevAttrMemoryPoolsSupported:
    return 1;
  case cudaDevAttrIntegrated:
  case cudaDevAttrEccEnabled:
  case cudaDevAttrPciDeviceId:
  case cudaDevAttrPciDomainId:
  case cudaDevAttrKernelExecTimeout:
  case cudaDevAttrComputeMode:
  case cudaDevAttrTccDriver:
  case cudaDevAttrIsMultiGpuBoard:
  case cudaDevAttrHostNativeAtomicSupported:
  case cudaDevAttrPageableMemoryAccess:
  case cudaDevAttrComputePreemptionSupported:
    return 0;
  }
  *known = false;
  return 0;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  struct cudaDeviceProp properties;
  SIM_TRY(cudaGetDeviceProperties(&properties, device));
  bool known = true;
  *value = attribute_value(attribute, &properties, &known);
  return known ? cudaSuccess : sim_fail(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
  SIM_TRY(sim_enter());
  if (id == NULL || length < 13 || !sim_is_device(device))
    return sim_fail(sim_is_device(device) ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
  snprintf(id, (size_t)length, "0000:%02X:00.0", (unsigned int)device + 1);
  return cudaSuccess;
}

// ---- peers ----

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(device) || !sim_is_device(peer))
    return sim_fail(cudaErrorInvalidDevice);
  *can = device != peer;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(peer) || peer == sim_current_device)
    return sim_fail(cudaErrorInvalidDevice);
  if (flags != 0)
    return sim_fail(cudaErrorInvalidValue);
  bool *enabled = &sim.device[sim_current_device].peer[peer];
  if (*enabled)
    return sim_fail(cudaErrorPeerAccessAlreadyEnabled);
  *enabled = true;
  return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  SIM_TRY(sim_enter());
  if (!sim_is_device(peer))
    return sim_fail(cudaErrorInvalidDevice);
  bool *enabled = &sim.device[sim_current_device].peer[peer];
  if (!*enabled)
    return sim_fail(cudaErrorPeerAccessNotEnabled);
  *enabled = false;
  return cudaSuccess;
}

// ---- statistics ----

static __thread bool quiet;

void sim_count_quietly(bool quietly) {
  quiet = quietly;
}

void sim_count_kernel(atomic_ullong *counter) {
  atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
  if (!quiet)
    SIM_NOTIFY(kernel_counted, ());
}

void sim_count_copy(enum cudaMemcpyKind kind, size_t bytes, bool within_device) {
  SIM_COUNT(copies[kind], 1);
  SIM_COUNT(bytes[kind], bytes);
  if (quiet)
    return;
  if (within_device)
    SIM_NOTIFY(kernel_counted, ());
  else if (kind != cudaMemcpyHostToHost)
    SIM_NOTIFY(copy_counted, (kind, bytes));
}

static unsigned long long load(atomic_ullong *counter) {
  return atomic_load_explicit(counter, memory_order_relaxed);
}

void cudasim_get_stats(struct cudasim_stats *stats) {
  struct sim_counters *c = &sim.counters;
  *stats = (struct cudasim_stats){.launches = load(&c->launches),
                                  .matrix_products = load(&c->matrix_products),
                                  .fills = load(&c->fills),
                                  .copies_host_to_device = load(&c->copies[cudaMemcpyHostToDevice]),
                                  .bytes_host_to_device = load(&c->bytes[cudaMemcpyHostToDevice]),
                                  .copies_device_to_host = load(&c->copies[cudaMemcpyDeviceToHost]),
                                  .bytes_device_to_host = load(&c->bytes[cudaMemcpyDeviceToHost]),
                                  .copies_device_to_device = load(&c->copies[cudaMemcpyDeviceToDevice]),
                                  .bytes_device_to_device = load(&c->bytes[cudaMemcpyDeviceToDevice]),
                                  .copies_host_to_host = load(&c->copies[cudaMemcpyHostToHost]),
                                  .bytes_host_to_host = load(&c->bytes[cudaMemcpyHostToHost]),
                                  .synchronizations = load(&c->synchronizations),
                                  .allocations = load(&c->allocations),
                                  .frees = load(&c->frees),
                                  .live_nodes = atomic_load(&c->live_nodes)};
  sim_launch_stats(stats);
}

void cudasim_reset_stats(void) {
  struct sim_counters *c = &sim.counters;
  atomic_ullong *counters[] = {&c->launches,         &c->matrix_products, &c->fills,
                               &c->synchronizations, &c->allocations,     &c->frees};
  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
    atomic_store(counters[i], 0);
  for (int kind = 0; kind < 4; kind++) {
    atomic_store(&c->copies[kind], 0);
    atomic_store(&c->bytes[kind], 0);
  }
}

const char *cudasim_mode(void) {
  static const char *const names[] = {[SIM_THREADS] = "threads", [SIM_LAZY] = "lazy", [SIM_SYNC] = "sync"};
  return sim_enter() == cudaSuccess ? names[sim.config.mode] : "forked";
}
