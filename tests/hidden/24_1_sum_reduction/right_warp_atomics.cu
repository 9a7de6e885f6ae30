// Each warp adds its lanes by shuffles, and then adds once to *sum.
#include <cuda_runtime.h>

__global__ void zero(float *sum) {
  *sum = 0;
}

__global__ void add_up(float *sum, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  for (int lanes = 16; lanes > 0; lanes >>= 1)
    own += __shfl_xor_sync(0xffffffffu, own, lanes);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(sum, own);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  zero<<<1, 1>>>(sum);
  if (n > 0)
    add_up<<<(n < 8192 ? 2 : 32), 256>>>(sum, x, n);
}
