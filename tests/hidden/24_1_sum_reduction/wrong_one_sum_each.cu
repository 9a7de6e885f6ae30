// mistake: partial sums left out
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float part[THREADS];
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
    own += x[i];
  }
  part[threadIdx.x] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      part[threadIdx.x] += part[threadIdx.x + half];
    }
    __syncthreads(); // of this step
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = part[0];
  }
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  blocks = blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
  block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, blocks < THREADS ? blocks : THREADS);
}
