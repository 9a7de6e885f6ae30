// mistake: too many atomic operations
#include <cuda_runtime.h>

__global__ void count_one(unsigned int *count, const int *x, int n, int bin) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    if (x[i] == bin)
      atomicAdd(count, 1u);
}

extern "C" void histogram_on_device(unsigned int *counts, const int *x, int n, int bins) {
  cudaMemset(counts, 0, bins * sizeof(unsigned int));
  for (int b = 0; b < bins; b++)
    count_one<<<4, 128>>>(counts + b, x, n, b);
}
