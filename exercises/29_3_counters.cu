// Exercise 29.3: Find the bug: counters             lesson 29 · medium · 20 min
//
// Task      count_on_device counts how often each number from 0 to 63 occurs in
//           x, as torch.bincount(x, minlength=64). Each block counts in shared
//           memory first. The counts are slightly wrong, and differ from run to
//           run. There is more than one bug.
// Example   x = 2 0 2 1   ->   counts = 1 1 2 0 0 ... 0
// Fix       count. ./ferry inspect work/29_3_counters.cu helps.
// Inputs    x         device array of n unsigned bytes, 0 to 63, aligned to 16
//           n         1 to 2,147,483,647
//           counts    device array of 64 ints, all 0 before the call
// Required  - correct for every n, without data races or uninitialized reads
//           - counted in shared memory first: fewer atomic operations on
//             global memory than elements of a large x
// Stars     ** one launch, no other operation on the device
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 128, BLOCKS = 8 };

__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ int own[BINS];
  int t = threadIdx.x;
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    own[x[i]]++;
  if (t < BINS)
    counts[t] += own[t];
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  count<<<blocks, THREADS>>>(counts, x, n);
}
