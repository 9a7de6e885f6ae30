// missing star: few elements per block
#include <cuda_runtime.h>

__global__ void histogram(unsigned int *counts, const int *x, int n, int bins) {
  __shared__ unsigned int of_block[1024];
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    of_block[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (x[i] >= 0 && x[i] < bins)
      atomicAdd(&of_block[x[i]], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < bins; b += blockDim.x)
    atomicAdd(&counts[b], of_block[b]);
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  cudaMemsetAsync(counts, 0, bins * sizeof *counts, 0);
  if (n > 0)
    histogram<<<(n + 255) / 256, 256>>>(counts, x, n, bins);
}
