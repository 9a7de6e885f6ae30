// mistake: 16-bit overflow
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 128, BLOCKS = 8 };

__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ unsigned own[BINS / 2];
  int t = threadIdx.x;
  if (t < BINS / 2)
    own[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    atomicAdd(&own[x[i] / 2], 1u << x[i] % 2 * 16);
  __syncthreads();
  if (t < BINS)
    atomicAdd(&counts[t], (int)(own[t / 2] >> t % 2 * 16 & 0xffff));
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  count<<<blocks, THREADS>>>(counts, x, n);
}
