// SPDX-License-Identifier: MIT
// Memory pools and attributes of streams: types and functions of the host. A pool's memory is its device's; what is given back is
// free at once, so a pool keeps nothing.
#ifndef CUDASIM_POOL_H
#define CUDASIM_POOL_H

#include "cudasim_abi.h"
#include "driver_types.h"

typedef struct CUmemPoolHandle_st *cudaMemPool_t;

enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8
};

enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1 };
enum cudaMemAllocationHandleType { cudaMemHandleTypeNone = 0, cudaMemHandleTypePosixFileDescriptor = 1 };
enum cudaMemAccessFlags {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3
};

struct cudaMemAccessDesc {
  struct cudaMemLocation location;
  enum cudaMemAccessFlags flags;
};

struct cudaMemPoolProps {
  enum cudaMemAllocationType allocType;
  enum cudaMemAllocationHandleType handleTypes;
  struct cudaMemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

enum cudaAccessProperty {
  cudaAccessPropertyNormal = 0,
  cudaAccessPropertyStreaming = 1,
  cudaAccessPropertyPersisting = 2
};

struct cudaAccessPolicyWindow {
  void *base_ptr;
  size_t num_bytes;
  float hitRatio;
  enum cudaAccessProperty hitProp, missProp;
};

enum cudaSynchronizationPolicy { cudaSyncPolicyAuto = 1, cudaSyncPolicySpin = 2, cudaSyncPolicyYield = 3 };

typedef enum cudaStreamAttrID {
  cudaStreamAttributeAccessPolicyWindow = 1,
  cudaStreamAttributeSynchronizationPolicy = 3,
  cudaStreamAttributePriority = 8
} cudaStreamAttrID;

typedef union cudaStreamAttrValue {
  char pad[64];
  struct cudaAccessPolicyWindow accessPolicyWindow;
  enum cudaSynchronizationPolicy syncPolicy;
  int priority;
} cudaStreamAttrValue;

CUDASIM_BEGIN_C

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) CUDASIM_SYMBOL(cudaDeviceGetDefaultMemPool);
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) CUDASIM_SYMBOL(cudaDeviceGetMemPool);
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) CUDASIM_SYMBOL(cudaDeviceSetMemPool);
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
    CUDASIM_SYMBOL(cudaMemPoolCreate);
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) CUDASIM_SYMBOL(cudaMemPoolDestroy);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) CUDASIM_SYMBOL(cudaMemPoolTrimTo);
// The values of how memory is used again, and of how much is kept, are remembered; those of what is in use are not supported.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
    CUDASIM_SYMBOL(cudaMemPoolSetAttribute);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
    CUDASIM_SYMBOL(cudaMemPoolGetAttribute);
// Another device's access is to all of the memory of the pool's device, once it is given.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count)
    CUDASIM_SYMBOL(cudaMemPoolSetAccess);
cudaError_t cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location)
    CUDASIM_SYMBOL(cudaMemPoolGetAccess);
cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream)
    CUDASIM_SYMBOL(cudaMallocFromPoolAsync);

// Checked, and without effect.
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID id, const cudaStreamAttrValue *value)
    CUDASIM_SYMBOL(cudaStreamSetAttribute);
cudaError_t cudaCtxResetPersistingL2Cache(void) CUDASIM_SYMBOL(cudaCtxResetPersistingL2Cache);

CUDASIM_END_C

#endif
