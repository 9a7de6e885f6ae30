// A kernel zeroes the counts; blocks of another size, all bins of the most there can be.
#include <cuda_runtime.h>

__global__ void zero(unsigned int *counts, int bins) {
  const int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b < bins)
    counts[b] = 0;
}

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  __shared__ unsigned int of_block[1024];
  const int threads = blockDim.x, self = threadIdx.x;
  for (int b = self; b < 1024; b += threads)
    of_block[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * threads + self; i < n; i += gridDim.x * threads) {
    const unsigned int b = (unsigned int)x[i]; // negative ones become large
    if (b < (unsigned int)bins)
      atomicInc(of_block + b, 0xffffffffu);
  }
  __syncthreads();
  for (int b = self; b < bins; b += threads)
    if (of_block[b])
      atomicAdd(counts + b, of_block[b]);
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  zero<<<(bins + 127) / 128, 128>>>(counts, bins);
  histogram<<<5, 320>>>(counts, x, n, bins);
}
