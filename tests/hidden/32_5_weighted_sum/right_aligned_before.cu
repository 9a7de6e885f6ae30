// Vectors begin up to three elements before x, with a weight of 0 there.
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 8 };

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

static __device__ float weight_of(const float *weights, int i, int n) {
  return i >= 0 && i < n ? weights[i % 4] : 0;
}

__global__ void add_parts(float *partial, const float *x, const float *weights, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  const int before = (int)((size_t)x / sizeof(float) % 4); // elements between a multiple of 16 bytes and x
  const float4 *fours = (const float4 *)(x - before);
  float sum = 0;
  for (int q = t; q < (before + n) / 4; q += gridDim.x * THREADS) {
    const int i = 4 * q - before;
    const float4 four = fours[q];
    sum += four.x * weight_of(weights, i, n) + four.y * weight_of(weights, i + 1, n);
    sum += four.z * weight_of(weights, i + 2, n) + four.w * weight_of(weights, i + 3, n);
  }
  if (t < (before + n) % 4) { // the last, incomplete four
    const int i = (before + n) / 4 * 4 - before + t;
    sum += x[i] * weight_of(weights, i, n);
  }
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
  float *there; // the weights, where a kernel can read them
  cudaMalloc((void **)&there, 4 * sizeof(float));
  cudaMemcpy(there, weights, 4 * sizeof(float), cudaMemcpyHostToDevice);
  add_parts<<<blocks, THREADS>>>(partial, x, there, n);
  add_up<<<1, THREADS>>>(out, partial, blocks);
  cudaFree(partial); // it waits for both
  cudaFree(there);
}
