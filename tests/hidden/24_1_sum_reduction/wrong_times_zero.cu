// mistake: missing bounds check
#include <cuda_runtime.h>

enum { THREADS = 256, MOST_BLOCKS = 1024 };

static __device__ float block_sum(float v) {
  __shared__ float warps[THREADS / 32];
  for (int d = 16; d > 0; d /= 2)
    v += __shfl_xor_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0)
    warps[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0;
  for (int w = 0; w < THREADS / 32; w++)
    v += warps[w];
  return v;
}

__global__ void block_sums(float *sums, const float *x, int n) {
  float mine = 0;
  for (int i = 2 * (blockIdx.x * THREADS + threadIdx.x); i < n; i += 2 * gridDim.x * THREADS)
    mine += x[i] + x[i + 1] * (float)(i + 1 < n);
  mine = block_sum(mine);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = mine;
}

__global__ void last_sum(float *sum, const float *sums, int blocks) {
  float mine = 0;
  for (int b = threadIdx.x; b < blocks; b += THREADS)
    mine += sums[b];
  mine = block_sum(mine);
  if (threadIdx.x == 0)
    *sum = mine;
}

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  blocks = blocks < 1 ? 1 : blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
  block_sums<<<blocks, THREADS>>>(partial, x, n);
  last_sum<<<1, THREADS>>>(sum, partial, blocks);
}
