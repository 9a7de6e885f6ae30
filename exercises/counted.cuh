// load, store and fetch, through which the kernels of exercises 27.1 and 27.3 access memory, and the two kinds of
// work of exercise 21.2. This is all that they do; where an answer is checked on simulated devices, the grader has others
// in their place that count each call as well.
#ifndef FERRY_COUNTED_CUH
#define FERRY_COUNTED_CUH

#include <cuda_runtime.h>

[[maybe_unused]] static __device__ __forceinline__ float load(const float *address) {
  return *address;
}

[[maybe_unused]] static __device__ __forceinline__ void store(float *address, float value) {
  *address = value;
}

[[maybe_unused]] static __device__ __forceinline__ float fetch(const float *address) {
  return *address;
}

[[maybe_unused]] static __device__ inline float even_work(float x) {
  float sum = x;
  for (int k = 0; k < 8; k++)
    sum = sum * 0.5f + x;
  return sum;
}

[[maybe_unused]] static __device__ inline float odd_work(float x) {
  float sum = -x;
  for (int k = 0; k < 8; k++)
    sum = sum * 0.25f - x;
  return sum;
}

#endif
