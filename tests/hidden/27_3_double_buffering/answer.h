// What an answer to exercise 27.3 defines, and the functions through which its kernel reads global and shared memory. On simulated
// devices, the driver records these reads and the barriers.
#include <cuda_runtime.h>
#define FERRY_COUNTED_CUH // the functions below replace those of exercises/counted.cuh

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k);

#ifdef FERRY_SIM
extern "C" void note_load(void);
extern "C" void note_fetch(void);
extern "C" void note_barrier(void);
#define __syncthreads(...) (note_barrier(), __syncthreads(__VA_ARGS__)) // arguments: in cooperative_groups.h
#define __syncthreads_or(...) (note_barrier(), __syncthreads_or(__VA_ARGS__))
#define __syncthreads_and(...) (note_barrier(), __syncthreads_and(__VA_ARGS__))
#define __syncthreads_count(...) (note_barrier(), __syncthreads_count(__VA_ARGS__))

static inline float load(const float *address) {
  note_load();
  return *address;
}
static inline float fetch(const float *address) {
  note_fetch();
  return *address;
}
#else
static __device__ __forceinline__ float load(const float *address) {
  return *address;
}
static __device__ __forceinline__ float fetch(const float *address) {
  return *address;
}
#endif
