// What an answer to exercise 27.1 defines, and the function through which its kernel reads global memory. On simulated devices,
// the driver counts the reads and barriers.
#include <cuda_runtime.h>
#define FERRY_COUNTED_CUH // the functions below replace those of exercises/counted.cuh

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k);

#ifdef FERRY_SIM
extern "C" float note_load(const float *address);
extern "C" void note_barrier(void);
#define __syncthreads(...) (note_barrier(), __syncthreads(__VA_ARGS__)) // arguments: in cooperative_groups.h

static inline float load(const float *address) {
  float value = note_load(address);
#ifdef CUDASIM_INSPECT // the inspector records the access itself
  value = *address;
#endif
  return value;
}
#else
static __device__ __forceinline__ float load(const float *address) {
  return *address;
}
#endif
