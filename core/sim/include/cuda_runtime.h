// SPDX-License-Identifier: MIT
// The whole of simulated CUDA: the C API, and in C++ what kernels need. A .cu file goes through cu2cpp first.
#ifndef CUDASIM_CUDA_RUNTIME_H
#define CUDASIM_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#define __CUDA_RUNTIME_H__

#if defined(__cplusplus) && defined(CUDASIM_HOST) // a host compiler's source: no kernels, no device functions
#include "vector_functions.h"
#elif defined(__cplusplus)
#include <stdio.h>
#ifdef CUDASIM_PROGRAM // nvcc's programs get by without them
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudasim_program.h"
#include "cudasim_simd.h"
#endif

#include "cudasim_atomic.h"
#include "cudasim_intrinsics.h"
#ifdef __cplusplus
#include <utility> // as nvcc's does
#endif
#include "cudasim_launch.h"
#include "cudasim_math.h"
#include "cudasim_split.h"
#include "cudasim_texture.h"
#include "cudasim_warp.h"
#include "vector_functions.h"

// A constant, not a macro: cudaDeviceProp has a member of this name.
static constexpr int warpSize = 32;
#endif

#ifdef __cplusplus
#include "cudasim_channels.h"

// The typed overloads that NVIDIA's header has.
template <class T> inline cudaError_t cudaMalloc(T **pointer, size_t bytes) {
  return cudaMalloc((void **)pointer, bytes);
}
template <class T> inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync((void **)pointer, bytes, stream);
}
template <class T> inline cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned int flags = 0) {
  return cudaHostAlloc((void **)pointer, bytes, flags);
}
template <class T> inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned int flags) {
  return cudaHostAlloc((void **)pointer, bytes, flags);
}
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
  return cudaHostGetDevicePointer((void **)device, host, flags);
}

// Of an array whose size only another file knows (extern T symbol[]) no offset is too large.
template <class T> constexpr size_t cudasim_symbol_bytes = sizeof(T);
template <class T> constexpr size_t cudasim_symbol_bytes<T[]> = ~size_t(0);

template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes, size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  const cudaError_t error = cudasim_check_symbol(cudasim_symbol_bytes<T>, bytes, offset);
  return error ? error : cudaMemcpyToSymbol(static_cast<const void *>(&symbol), src, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
                                        enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  const cudaError_t error = cudasim_check_symbol(cudasim_symbol_bytes<T>, bytes, offset);
  return error ? error : cudaMemcpyFromSymbol(dst, static_cast<const void *>(&symbol), bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *src, size_t bytes, size_t offset = 0,
                                           enum cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                           cudaStream_t stream = nullptr) {
  const cudaError_t error = cudasim_check_symbol(cudasim_symbol_bytes<T>, bytes, offset);
  return error ? error : cudaMemcpyToSymbolAsync(static_cast<const void *>(&symbol), src, bytes, offset, kind, stream);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbolAsync(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
                                             enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                             cudaStream_t stream = nullptr) {
  const cudaError_t error = cudasim_check_symbol(cudasim_symbol_bytes<T>, bytes, offset);
  return error ? error
               : cudaMemcpyFromSymbolAsync(dst, static_cast<const void *>(&symbol), bytes, offset, kind, stream);
}

template <class... P>
inline cudaError_t cudaFuncSetAttribute(void (*kernel)(P...), enum cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class... P>
inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, void (*kernel)(P...)) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <class... P>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void (*kernel)(P...), int threads,
                                                                 size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void *>(kernel), threads,
                                                       shared_bytes);
}
template <class... P>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void (*kernel)(P...),
                                                                          int threads, size_t shared_bytes,
                                                                          unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_bytes);
}
template <class... P> inline cudaError_t cudaFuncSetCacheConfig(void (*kernel)(P...), enum cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void *>(kernel), config);
}
template <class... P>
inline cudaError_t cudaFuncSetSharedMemConfig(void (*kernel)(P...), enum cudaSharedMemConfig config) {
  return cudaFuncSetSharedMemConfig(reinterpret_cast<const void *>(kernel), config);
}

// The block size with the most threads on a multiprocessor, and blocks enough for all of them.
template <class... P, class Bytes>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, void (*kernel)(P...),
                                                                  Bytes shared_bytes, int limit = 0) {
  int device = 0, processors = 0, most = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error == cudaSuccess)
    error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  limit = limit > 0 && limit < attributes.maxThreadsPerBlock ? limit : attributes.maxThreadsPerBlock;
  for (int threads = limit; threads > 0 && error == cudaSuccess; threads = (threads - 1) / 32 * 32) {
    int blocks = 0;
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared_bytes(threads));
    if (error == cudaSuccess && blocks * threads > most) {
      most = blocks * threads;
      *block = threads;
      *grid = blocks * processors;
    }
  }
  return error;
}
template <class... P>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, void (*kernel)(P...),
                                                      size_t shared_bytes = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMem(
      grid, block, kernel, [shared_bytes](int) { return shared_bytes; }, limit);
}

static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *kernel,
                                                             size_t shared_bytes = 0, int limit = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid, block, reinterpret_cast<void (*)(void)>(const_cast<void *>(kernel)),
                                            shared_bytes, limit);
}

template <class T>
inline cudaError_t cudaMallocManaged(T **pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void **)pointer, bytes, flags);
}
template <class T> inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height) {
  return cudaMallocPitch((void **)pointer, pitch, width, height);
}
template <class T> inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol) {
  return cudasim_symbol_address(pointer, static_cast<const void *>(&symbol), sizeof symbol);
}
template <class T, class U> inline cudaError_t cudaGetSymbolAddress(U **pointer, const T &symbol) {
  return cudasim_symbol_address((void **)pointer, static_cast<const void *>(&symbol), sizeof symbol);
}
template <class T> inline cudaError_t cudaGetSymbolSize(size_t *bytes, const T &symbol) {
  *bytes = sizeof symbol;
  return cudaSuccess;
}

// As CUDA 12 had them: the place is a device's number.
static inline struct cudaMemLocation cudasim_location(int device) {
  return {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device};
}
static inline cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t bytes, int device,
                                               cudaStream_t stream = nullptr) {
  return cudaMemPrefetchAsync(pointer, bytes, cudasim_location(device), 0, stream);
}
static inline cudaError_t cudaMemAdvise(const void *pointer, size_t bytes, enum cudaMemoryAdvise advice, int device) {
  return cudaMemAdvise(pointer, bytes, advice, cudasim_location(device));
}
// Other forms that C++ has.
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *node,
                                               char *log, size_t bytes) {
  if (node)
    *node = nullptr;
  if (log && bytes > 0)
    *log = '\0';
  return cudaGraphInstantiateWithFlags(exec, graph, 0);
}
static inline cudaError_t cudaThreadSynchronize(void) {
  return cudaDeviceSynchronize();
}
static inline cudaError_t cudaThreadExit(void) {
  return cudaDeviceReset();
}
#endif

#endif
