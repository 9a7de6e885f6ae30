// mistake: weights of an earlier call
// They are copied in the first call alone.
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 8 };

__constant__ float constant[4];

// The sum of the block's threads, in thread 0.
static __device__ float block_sum(float own) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x;
  sums[t] = own;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half)
      sums[t] += sums[t + half];
  }
  return sums[0];
}

__global__ void add_parts(float *partial, const float *x, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int i = t; i < n; i += gridDim.x * THREADS)
    sum += x[i] * constant[i % 4];
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

__global__ void add_up(float *out, const float *partial, int count) {
  float sum = block_sum((int)threadIdx.x < count ? partial[threadIdx.x] : 0);
  if (threadIdx.x == 0)
    *out = sum;
}

extern "C" void weighted_on_device(float *out, const float *x, const float *weights, int n) {
  int blocks = (n + 4 * THREADS - 1) / (4 * THREADS);
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  float *partial;
  cudaMalloc((void **)&partial, blocks * sizeof(float));
  static bool there = false;
  if (!there)
    cudaMemcpyToSymbol(constant, weights, 4 * sizeof(float));
  there = true;
  add_parts<<<blocks, THREADS>>>(partial, x, n);
  add_up<<<1, THREADS>>>(out, partial, blocks);
  cudaFree(partial); // it waits for both
}
