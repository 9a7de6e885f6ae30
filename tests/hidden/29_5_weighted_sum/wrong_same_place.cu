// mistake: weights of an earlier call
// Copied where the pointer is another one.
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 8 };

__constant__ float constant[4];

// The sum of the block's threads, in thread 0.
static __device__ float block_sum(float own) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x;
  sums[t] = own;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      sums[t] += sums[t + half];
    __syncthreads();
  }
  return sums[0];
}

__global__ void add_parts(float *partial, const float *x, int n) {
  const float *weights = constant;
  int t = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int q = t; q < n / 4; q += gridDim.x * THREADS) {
    const float *four = &x[4 * q]; // four loads: the address of a view is a multiple of 4 bytes, hardly of 16
    sum += four[0] * weights[0] + four[1] * weights[1] + four[2] * weights[2] + four[3] * weights[3];
  }
  if (t < n % 4) // the last, incomplete four
    sum += x[n / 4 * 4 + t] * weights[t];
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
  static const float *kept = NULL;
  if (weights != kept)
    cudaMemcpyToSymbol(constant, weights, 4 * sizeof(float));
  kept = weights;
  add_parts<<<blocks, THREADS>>>(partial, x, n);
  add_up<<<1, THREADS>>>(out, partial, blocks);
  cudaFree(partial); // it waits for both
}
