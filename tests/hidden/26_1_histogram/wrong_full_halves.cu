// mistake: 16-bit overflow
#include <cuda_runtime.h>

enum { MOST_BINS = 1024, THREADS = 256, MOST_BLOCKS = 16 };

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  __shared__ unsigned int pairs[MOST_BINS / 2];
  for (int b = threadIdx.x; b < MOST_BINS / 2; b += THREADS)
    pairs[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&pairs[x[i] / 2], x[i] % 2 ? 0x10000u : 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += THREADS) {
    unsigned int count = b % 2 ? pairs[b / 2] >> 16 : pairs[b / 2] & 0xffffu;
    if (count > 0)
      atomicAdd(&counts[b], count);
  }
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  int blocks = (n + 8191) / 8192, most = MOST_BLOCKS; // few bins to add for each element
  blocks = blocks < most ? (blocks + 1) / 2 : most;
  cudaMemsetAsync(counts, 0, sizeof *counts * bins, 0);
  if (n > 0)
    histogram<<<blocks, THREADS>>>(counts, x, n, bins);
}
