// missing star: one atomic operation per thread
#include <cuda_runtime.h>

__global__ void add_up(float *sum, const float *x, int n) {
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    own += x[i];
  atomicAdd(sum, own);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int threads = n / 32 < 64 ? 64 : n / 32 / 64 * 64;
  cudaMemsetAsync(sum, 0, sizeof *sum, 0);
  add_up<<<threads / 64, 64>>>(sum, x, n);
}
