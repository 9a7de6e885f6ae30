// mistake: missing barrier
#include <cuda_runtime.h>

enum { BINS = 64, THREADS = 256 };

__global__ void count(int *counts, const unsigned char *x, int n) {
  __shared__ int bins[BINS];
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(bins + x[i], 1);
  __syncwarp(); // the other warps may still be counting
  for (int b = threadIdx.x; b < BINS; b += blockDim.x)
    atomicAdd(counts + b, bins[b]);
}

extern "C" void count_on_device(int *counts, const unsigned char *x, int n) {
  const int all = (n + THREADS - 1) / THREADS, blocks = all < 4 ? all : 4;
  count<<<blocks, THREADS>>>(counts, x, n);
}
