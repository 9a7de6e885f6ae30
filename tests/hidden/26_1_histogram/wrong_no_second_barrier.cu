// mistake: missing barrier
#include <cuda_runtime.h>

enum { MOST_BINS = 1024, THREADS = 256 };

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  __shared__ unsigned int of_block[MOST_BINS];
  for (int b = threadIdx.x; b < bins; b += THREADS)
    of_block[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&of_block[x[i]], 1u);
  for (int b = threadIdx.x; b < bins; b += THREADS)
    atomicAdd(&counts[b], of_block[b]);
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  int blocks = n < THREADS * 8 ? (n + THREADS - 1) / THREADS : 8;
  cudaMemset(counts, 0, bins * sizeof(unsigned int));
  if (blocks > 0)
    histogram<<<blocks, THREADS>>>(counts, x, n, bins);
}
