// Eight elements per thread, so that few elements are one block's.
#include <cuda_runtime.h>

enum { THREADS = 256, EACH = 8, MOST_BLOCKS = 1024 };

__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float s[THREADS];
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    own += x[i];
  s[threadIdx.x] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = s[0];
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int blocks = (n + THREADS * EACH - 1) / (THREADS * EACH);
  blocks = blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
  block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, blocks);
}
