// mistake: missing barrier
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float shared[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  float own = 0;
  for (; i < n; i += gridDim.x * THREADS)
    own += x[i];
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2)
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
  if (threadIdx.x == 0)
    sums[blockIdx.x] = shared[0];
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int blocks = n < THREADS * 1024 ? (n + THREADS - 1) / THREADS : 1024;
  if (blocks > 0)
    block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, blocks);
}
