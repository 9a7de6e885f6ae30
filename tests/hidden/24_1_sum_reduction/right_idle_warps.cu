// A fixed grid: warps without elements add a 0.
#include <cuda_runtime.h>

enum { THREADS = 256, BLOCKS = 64 };

__global__ void add_warps(float *sum, const float *x, int n) {
  float value = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value += x[i];
  for (int offset = 16; offset > 0; offset >>= 1)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(sum, value);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  cudaMemsetAsync(sum, 0, sizeof(float));
  if (n > 0)
    add_warps<<<BLOCKS, THREADS>>>(sum, x, n);
}
