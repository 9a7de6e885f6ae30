// mistake: divergent barrier
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float shared[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= n)
    return;
  shared[threadIdx.x] = x[i];
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(sums, shared[0]);
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  cudaMemsetAsync(sum, 0, sizeof(float), 0);
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    block_sums<<<blocks, THREADS>>>(sum, x, n);
}
