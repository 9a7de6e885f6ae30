// Exercise 32.5: Find the bug: a weighted sum        lesson 32 · hard · 30 min
//
// Task      weighted_on_device computes a sum with four weights that repeat, as
//           (x * weights.repeat(n // 4 + 1)[:n]).sum() does in PyTorch:
//               out[0] = sum of weights[i % 4] * x[i]         i = 0 .. n-1
//           Each block stores a partial sum, and a second kernel adds the
//           partial sums. But the program ends with an error, or the sum is
//           wrong. There may be more than one cause.
// Example   x = 1 2 3 4 5, weights = 1 10 100 1000   ->   out = 4326
// Fix       weighted_on_device and its kernels
// Inputs    x         device array of n floats; may be a view that begins at
//                     any element of a larger array
//           weights   host array of 4 floats
//           out       one float in device memory, uninitialized
//           n         1 to 2^24
// Required  - correct for all inputs, in every call
//           - no invalid memory access and no memory leak
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 8 };

// Returns the sum of x over the threads of the block.
static __device__ float block_sum(float x) {
  __shared__ float sums[THREADS];
  int t = threadIdx.x;
  sums[t] = x;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      sums[t] += sums[t + half];
    __syncthreads();
  }
  return sums[0];
}

__global__ void partial_sums(float *partial, const float *x, const float *weights, int n) {
  int t = blockIdx.x * THREADS + threadIdx.x;
  float sum = 0;
  for (int q = t; q < n / 4; q += gridDim.x * THREADS) {
    // [answer]
    const float *four = &x[4 * q]; // single floats, because a view need not be 16-byte aligned
    sum += four[0] * weights[0] + four[1] * weights[1] + four[2] * weights[2] + four[3] * weights[3];
    // [stub]
    //| float4 four = ((const float4 *)x)[q];
    //| sum += four.x * weights[0] + four.y * weights[1] + four.z * weights[2] + four.w * weights[3];
    // [end]
  }
  if (t < n % 4) // the elements after the last group of four
    sum += x[n / 4 * 4 + t] * weights[t];
  sum = block_sum(sum);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

__global__ void final_sum(float *out, const float *partial, int count) {
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
  // [answer]
  float *device_weights;
  cudaMalloc((void **)&device_weights, 4 * sizeof(float));
  cudaMemcpy(device_weights, weights, 4 * sizeof(float), cudaMemcpyHostToDevice);
  partial_sums<<<blocks, THREADS>>>(partial, x, device_weights, n);
  final_sum<<<1, THREADS>>>(out, partial, blocks);
  cudaFree(partial); // cudaFree waits for both kernels
  cudaFree(device_weights);
  // [stub]
  //| partial_sums<<<blocks, THREADS>>>(partial, x, weights, n);
  //| cudaFree(partial);
  //| final_sum<<<1, THREADS>>>(out, partial, blocks);
  // [end]
}
