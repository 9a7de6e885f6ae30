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
#endif

#include "cudasim_atomic.h"
#include "cudasim_launch.h"
#include "cudasim_math.h"
#include "cudasim_warp.h"
#include "vector_functions.h"

// A constant, not a macro: cudaDeviceProp has a member of this name.
static constexpr int warpSize = 32;
#endif

#ifdef __cplusplus

// The typed overloads that NVIDIA's header has.
template <class T> inline cudaError_t cudaMalloc(T **pointer, size_t bytes) {
  return cudaMalloc(reinterpret_cast<void **>(pointer), bytes);
}
template <class T> inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaStream_t stream) {
  return cudaMallocAsync(reinterpret_cast<void **>(pointer), bytes, stream);
}
template <class T> inline cudaError_t cudaMallocHost(T **pointer, size_t bytes, unsigned int flags = 0) {
  return cudaHostAlloc(reinterpret_cast<void **>(pointer), bytes, flags);
}
template <class T> inline cudaError_t cudaHostAlloc(T **pointer, size_t bytes, unsigned int flags) {
  return cudaHostAlloc(reinterpret_cast<void **>(pointer), bytes, flags);
}
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned int flags) {
  return cudaHostGetDevicePointer(reinterpret_cast<void **>(device), host, flags);
}
template <class T>
inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *src, size_t bytes, size_t offset = 0,
                                      enum cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return cudaMemcpyToSymbol(static_cast<const void *>(&symbol), src, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(void *dst, const T &symbol, size_t bytes, size_t offset = 0,
                                        enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return cudaMemcpyFromSymbol(dst, static_cast<const void *>(&symbol), bytes, offset, kind);
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
#endif

#endif
