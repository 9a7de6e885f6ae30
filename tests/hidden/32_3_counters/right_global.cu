// missing star: too many atomic operations
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 128, BLOCKS = 8 };

__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ int own[BINS];
  int t = threadIdx.x;
  if (t < BINS)
    own[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    atomicAdd(&counts[x[i]], 1);
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > BLOCKS)
    blocks = BLOCKS;
  count<<<blocks, THREADS>>>(counts, x, n);
}
