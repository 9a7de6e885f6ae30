// Rows of bins, one for each block, in scratch memory; a second launch adds them up.
#include <cuda_runtime.h>

enum { ROWS = 16 };
__device__ unsigned int rows[ROWS][1024];

__global__ void count(const int *x, int n, int bins) {
  __shared__ unsigned int of_block[1024];
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    of_block[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&of_block[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    rows[blockIdx.x][b] = of_block[b];
}

__global__ void add_rows(unsigned int *counts, int bins) {
  int b = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned int sum = 0;
  for (int row = 0; b < bins && row < ROWS; row++)
    sum += rows[row][b];
  if (b < bins)
    counts[b] = sum;
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  count<<<ROWS, 256>>>(x, n, bins);
  add_rows<<<(bins + 127) / 128, 128>>>(counts, bins);
}
