// What an answer to exercise 65 defines, and the function through which its kernel reads global memory. On simulated devices
// the reads and barriers are counted by the driver.
#include <cuda_runtime.h>
#define FERRY_COUNTED_CUH // the functions of exercises/counted.cuh are these here

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k);

#ifdef FERRY_SIM
extern "C" void note_load(const float *address);
extern "C" void note_barrier(void);
#define __syncthreads() (note_barrier(), __syncthreads())

static inline float load(const float *address) {
  note_load(address);
  return *address;
}
#else
static __device__ __forceinline__ float load(const float *address) {
  return *address;
}
#endif
