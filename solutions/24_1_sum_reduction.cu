// Exercise 24.1: Sum reduction                     lesson 24 · medium · 35 min
//
// Task      Sum an array on the device, as torch.sum(x) does. Let the threads
//           of each block sum the block's elements together, then add up the
//           sums of all blocks.
// Example   x = 3 1 7 0 4   ->   *sum = 15
// Write     sum_on_device and the kernels that it launches.
// Inputs    sum       device memory for one float; each call must write it
//           x         device array of n floats, only 4-byte aligned
//           partial   device array of 1024 floats, yours to use
//           n         0 to 2^20
// Required  - correct for every n and in every call, without data races or
//             out-of-bounds accesses
//           - no copy to the host
//           - at most n / 8 atomic operations on global memory (for n = 40,000)
// Stars     ** parallel: several blocks, and at least 20 % active lanes overall
//           *** at most n / 64 + 64 atomic operations on global memory
#include <cuda_runtime.h>

enum { THREADS = 256, MAX_BLOCKS = 1024 };

// [answer]
// Stores the sum of block b's elements in sums[b]. A block takes its elements in a grid-stride loop.
__global__ void block_sums(float *sums, const float *x, int n) {
  __shared__ float shared[THREADS];
  float own = 0;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
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
// [stub]
//| __global__ void block_sums(float *sums, const float *x, int n) {
//|   // one sum per block
//| }
// [end]

extern "C" void sum_on_device(float *sum, const float *x, float *partial, int n) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > MAX_BLOCKS)
    blocks = MAX_BLOCKS;
  if (blocks > 0)
    block_sums<<<blocks, THREADS>>>(partial, x, n);
  block_sums<<<1, THREADS>>>(sum, partial, blocks);
  // [stub]
  // [end]
}
