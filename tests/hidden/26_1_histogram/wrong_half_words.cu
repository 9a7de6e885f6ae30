// mistake: 16-bit overflow
#include <cuda_runtime.h>

enum { MOST_BINS = 1024, THREADS = 256, MOST_BLOCKS = 2 };

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  __shared__ unsigned int own[MOST_BINS];
  for (int b = threadIdx.x; b < bins; b += THREADS)
    own[b] = 0;
  __syncthreads(); // zeroed
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&own[x[i] / 2], 1u << (16 * (x[i] % 2)));
  __syncthreads(); // counted
  for (int b = threadIdx.x; b < bins; b += THREADS)
    atomicAdd(&counts[b], (own[b / 2] >> (16 * (b % 2))) & 0xffff);
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  cudaMemsetAsync(counts, 0, bins * sizeof(unsigned int), 0);
  if (n == 0)
    return;
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > MOST_BLOCKS)
    blocks = MOST_BLOCKS;
  histogram<<<blocks, THREADS>>>(counts, x, n, bins);
}
