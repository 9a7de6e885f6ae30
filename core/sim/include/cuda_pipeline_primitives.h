// SPDX-License-Identifier: MIT
// Asynchronous copies to shared memory by the functions that C has for them. They are done at once; an inspector is told that they
// have written when the thread has waited for them.
#ifndef CUDASIM_CUDA_PIPELINE_PRIMITIVES_H
#define CUDASIM_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

namespace cudasim {
#ifdef CUDASIM_INSPECT
// What is read is read now, which the inspector sees; what is written is not seen here.
template <class T> CUDASIM_UNSEEN inline void async_store(void *to, T value) {
  *static_cast<T *>(to) = value;
}
template <class T> __forceinline__ void async_copy(void *to, const void *from) {
  async_store(to, *static_cast<const T *>(from));
  cudasim_async_write(to, sizeof(T));
}
#else
template <class T> __forceinline__ void async_copy(void *to, const void *from) {
  *static_cast<T *>(to) = *static_cast<const T *>(from);
}
#endif
} // namespace cudasim

// 4, 8 or 16 bytes, of which the last `zeros` are not read and become 0. Both addresses are multiples of `bytes`.
static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  const size_t copied = zeros < bytes ? bytes - zeros : 0;
  if (bytes == 16 && zeros == 0)
    cudasim::async_copy<float4>(to, from);
  else if (bytes == 8 && zeros == 0)
    cudasim::async_copy<float2>(to, from);
  else if (bytes == 4 && zeros == 0)
    cudasim::async_copy<float1>(to, from);
  else
    for (size_t i = 0; i < bytes; i++)
      static_cast<unsigned char *>(to)[i] = i < copied ? static_cast<const unsigned char *>(from)[i] : 0;
}
static inline void __pipeline_commit(void) {
#ifdef CUDASIM_INSPECT
  cudasim_async_commit();
#endif
}
// Until all but the last `prior` groups have arrived.
static inline void __pipeline_wait_prior(size_t prior) {
#ifdef CUDASIM_INSPECT
  cudasim_async_wait(prior);
#else
  (void)prior;
#endif
}

#endif
