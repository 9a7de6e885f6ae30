// mistake: uninitialized read
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

// One number for each block: the sum of the elements that its threads meet in a grid-stride loop.
__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float shared[THREADS];
  float own = 0;
  for (long long i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) // beyond INT_MAX at the end
    own += x[i];
  shared[threadIdx.x] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if ((int)threadIdx.x < half)
      shared[threadIdx.x] += shared[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = shared[0];
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int blocks = n < THREADS * MOST_BLOCKS ? (n + THREADS - 1) / THREADS : MOST_BLOCKS; // n + 255 only where n is small
  if (blocks > 0)
    block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, MOST_BLOCKS); // all that there is room for
}
