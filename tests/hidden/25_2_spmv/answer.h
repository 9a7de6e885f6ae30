// What an answer to exercise 25.2 defines. On simulated devices the driver counts the shuffles that lanes of their mask do not reach.
#include <cuda_runtime.h>

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count);

#ifdef FERRY_SIM
extern "C" void note_lanes(unsigned int mask, unsigned int present);

static __device__ inline unsigned int noted(unsigned int mask) {
  note_lanes(mask, __ballot_sync(mask, 1));
  return mask;
}
#define __shfl_sync(mask, ...) __shfl_sync(noted(mask), __VA_ARGS__)
#define __shfl_up_sync(mask, ...) __shfl_up_sync(noted(mask), __VA_ARGS__)
#define __shfl_down_sync(mask, ...) __shfl_down_sync(noted(mask), __VA_ARGS__)
#define __shfl_xor_sync(mask, ...) __shfl_xor_sync(noted(mask), __VA_ARGS__)
#endif
