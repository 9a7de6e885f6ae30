// The blocks' sums are added one after another, under a lock.
#include <cuda_runtime.h>

__device__ int lock = 0;

__global__ void add_up(float *sum, const float *x, int n) {
  __shared__ float shared[64];
  float own = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64)
    own += x[i];
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    while (atomicCAS(&lock, 0, 1) != 0)
      continue;
    __threadfence();
    *(volatile float *)sum += shared[0];
    __threadfence();
    atomicExch(&lock, 0);
  }
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  cudaMemsetAsync(sum, 0, sizeof *sum, 0);
  add_up<<<16, 64>>>(sum, x, n);
}
