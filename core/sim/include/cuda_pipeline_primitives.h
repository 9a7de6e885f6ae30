// Asynchronous copies to shared memory by the functions that C has for them, done at once: a thread that does not wait for them is not found
// out.
#ifndef CUDASIM_CUDA_PIPELINE_PRIMITIVES_H
#define CUDASIM_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"

// 4, 8 or 16 bytes, of which the last `zeros` are not read and become 0. Both addresses are multiples of `bytes`.
static inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0) {
  const size_t copied = zeros < bytes ? bytes - zeros : 0;
  if (bytes == 16 && zeros == 0)
    *static_cast<float4 *>(to) = *static_cast<const float4 *>(from);
  else if (bytes == 8 && zeros == 0)
    *static_cast<float2 *>(to) = *static_cast<const float2 *>(from);
  else if (bytes == 4 && zeros == 0)
    *static_cast<float1 *>(to) = *static_cast<const float1 *>(from);
  else
    for (size_t i = 0; i < bytes; i++)
      static_cast<unsigned char *>(to)[i] = i < copied ? static_cast<const unsigned char *>(from)[i] : 0;
}
static inline void __pipeline_commit(void) {
}
static inline void __pipeline_wait_prior(size_t) {
}

#endif
