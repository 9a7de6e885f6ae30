// Exercise 29.5: Find the bug: a weighted sum         lesson 29 · hard · 30 min
//
// Task      weighted_on_device adds up x with four weights that repeat, in two
//           launches: one sum per block, then the sum of these.
//               out[0] = sum of weights[i % 4] * x[i]        i = 0 .. n-1
//           Three of its pointers are used in a way that CUDA does not allow.
// Example   x = 1 1 1 1 2, weights = 1 2 3 4   ->   out = 12
// Fix       weighted_on_device and its kernels.
//           ./ferry inspect work/29_5_weighted_sum.cu helps.
// Inputs    x         device array of n floats, n at least 1; it may be a view,
//                     and the memory around it is not yours
//           weights   4 floats on the host, other ones in each call
//           out       1 float on the device
// Required  - correct for every n and every alignment of x
//           - memory used as CUDA allows, and freed in each call
// Stars     ** two launches
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

__global__ void add_parts(float *partial, const float *x, const float *weights, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int q = t; q < n / 4; q += gridDim.x * THREADS) {
    float4 four = ((const float4 *)x)[q];
    sum += four.x * weights[0] + four.y * weights[1] + four.z * weights[2] + four.w * weights[3];
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
  add_parts<<<blocks, THREADS>>>(partial, x, weights, n);
  cudaFree(partial);
  add_up<<<1, THREADS>>>(out, partial, blocks);
}
