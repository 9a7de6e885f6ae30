// SPDX-License-Identifier: MIT
// What programs call now and then, in C++: forms of earlier CUDAs, atomic functions with an order and a scope, a few of halves.
#ifndef CUDASIM_MORE_H
#define CUDASIM_MORE_H

#include "cuda_fp16.h"
#include "cuda_runtime_api.h"
#include "cudasim_atomic.h"
#include "cudasim_pool.h"

// A graph is ready for its launch once it is instantiated.
static inline cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return exec == nullptr                                             ? cudaErrorInvalidValue
         : cudaStreamQuery(stream) == cudaErrorInvalidResourceHandle ? cudaErrorInvalidResourceHandle
                                                                     : cudaSuccess;
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void **>(pointer), bytes, pool, stream);
}
template <class T>
inline cudaError_t cudaMallocAsync(T **pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return cudaMallocFromPoolAsync(reinterpret_cast<void **>(pointer), bytes, pool, stream);
}

// ---- atomic functions that name their order; scopes are all the same here ----

enum {
  __NV_ATOMIC_RELAXED = __ATOMIC_RELAXED,
  __NV_ATOMIC_CONSUME = __ATOMIC_CONSUME,
  __NV_ATOMIC_ACQUIRE = __ATOMIC_ACQUIRE,
  __NV_ATOMIC_RELEASE = __ATOMIC_RELEASE,
  __NV_ATOMIC_ACQ_REL = __ATOMIC_ACQ_REL,
  __NV_ATOMIC_SEQ_CST = __ATOMIC_SEQ_CST
};
enum {
  __NV_THREAD_SCOPE_THREAD,
  __NV_THREAD_SCOPE_BLOCK,
  __NV_THREAD_SCOPE_CLUSTER,
  __NV_THREAD_SCOPE_DEVICE,
  __NV_THREAD_SCOPE_SYSTEM
};

template <class T> inline T __nv_atomic_load_n(T *address, int, int = __NV_THREAD_SCOPE_SYSTEM) {
  cudasim_poll(); // somebody may wait by it
  return __atomic_load_n(address, __ATOMIC_SEQ_CST);
}
template <class T, class V> inline void __nv_atomic_store_n(T *address, V value, int, int = __NV_THREAD_SCOPE_SYSTEM) {
  __atomic_store_n(address, static_cast<T>(value), __ATOMIC_SEQ_CST);
}
#define CUDASIM_NAMED(name, function)                                                                                  \
  template <class T, class V> inline T __nv_atomic_##name(T *address, V value, int, int = __NV_THREAD_SCOPE_SYSTEM) {  \
    return function(address, static_cast<T>(value));                                                                   \
  }
CUDASIM_NAMED(fetch_add, atomicAdd)
CUDASIM_NAMED(fetch_sub, atomicSub)
CUDASIM_NAMED(fetch_min, atomicMin)
CUDASIM_NAMED(fetch_max, atomicMax)
CUDASIM_NAMED(fetch_and, atomicAnd)
CUDASIM_NAMED(fetch_or, atomicOr)
CUDASIM_NAMED(fetch_xor, atomicXor)
CUDASIM_NAMED(exchange_n, atomicExch)
#undef CUDASIM_NAMED
template <class T>
inline bool __nv_atomic_compare_exchange_n(T *address, T *expected, T value, bool, int, int,
                                           int = __NV_THREAD_SCOPE_SYSTEM) {
  cudasim_poll();
  return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

#endif
