// load and store, through which the kernels of exercises 63 and 65 touch memory. This is all that they do; where an answer is
// checked on simulated devices, the grader has others in their place that count each access as well.
#ifndef FERRY_COUNTED_CUH
#define FERRY_COUNTED_CUH

#include <cuda_runtime.h>

static __device__ __forceinline__ float load(const float *address) {
  return *address;
}

[[maybe_unused]] static __device__ __forceinline__ void store(float *address, float value) {
  *address = value;
}

#endif
