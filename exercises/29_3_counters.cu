// Exercise 29.3: counters (find the bug)                                  (chapter 29, docs/29_debugging_kernels.md)
//
// count_on_device is to count how often each number 0 .. 63 stands in x, in shared memory first and then over all
// blocks:
//
//   counts[b] = how many i have x[i] == b          b = 0 .. 63
//
//   PyTorch:  counts = torch.bincount(x, minlength=64)
//
// Its counts are a little wrong, and others each time. Find what is wrong (there is more than one mistake, and one kind
// may stand in two places), and mend it: `./ferry inspect work/29_3_counters.cu` helps.
//
// Given, in device memory: x (n unsigned bytes, each below 64; n at least 1; it begins at a multiple of 16 bytes) and
// counts (64 ints, all 0 before the call, so that a total may be added to them or stored). Counted: launches (one), and
// by the inspector races, reads of what nobody has written, and atomic operations on global memory (at most 512 in all,
// 64 for each of 8 blocks; how many blocks there are is not looked at).
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
