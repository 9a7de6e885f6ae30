// mistake: misaligned vector access
// Four elements at a time from where x begins, which is no multiple of 16 bytes.
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float shared[THREADS];
  const float4 *x4 = (const float4 *)x;
  float own = 0;
  int first = blockIdx.x * THREADS + threadIdx.x, all = gridDim.x * THREADS;
  for (int i = first; i < n / 4; i += all)
    own += x4[i].x + x4[i].y + x4[i].z + x4[i].w;
  for (int i = n / 4 * 4 + first; i < n; i += all)
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
  int blocks = n < THREADS * MOST_BLOCKS ? (n + THREADS - 1) / THREADS : MOST_BLOCKS;
  if (blocks > 0)
    block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, blocks);
}
