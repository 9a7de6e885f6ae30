// Exercise 32.3: Find the bug: counters            lesson 32 · medium · 20 min
//
// Task      count_on_device counts how often each value from 0 to 63 occurs in
//           x. Each block counts in shared memory, and then adds its counters
//           to counts:
//               counts = torch.bincount(x, minlength=64)
// Example   x = 2 0 2 3   ->   counts = 1 0 2 1 0 0 ... 0
// Fix       The counts are wrong, and differ from run to run. There is more
//           than one bug.
// Inputs    counts    device array of 64 ints, all 0 before the call
//           x         device array of n unsigned chars, each below 64, 16-byte
//                     aligned
//           n         1 or more
// Required  - correct for every input, without data races, out-of-bounds
//             accesses or uninitialized reads
// Stars     ** at most n / 4 atomic operations on global memory (at n = 20,000)
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 128, BLOCKS = 8 };

__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ int own[BINS];
  int t = threadIdx.x;
  // [answer]
  if (t < BINS)
    own[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    atomicAdd(&own[x[i]], 1);
  __syncthreads();
  if (t < BINS)
    atomicAdd(&counts[t], own[t]);
  // [stub]
  //| for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
  //|   own[x[i]]++;
  //| if (t < BINS)
  //|   counts[t] += own[t];
  // [end]
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  count<<<blocks, THREADS>>>(counts, x, n);
}
