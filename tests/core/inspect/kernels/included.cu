// Kernels of an included file. An access in a function that a kernel of this file calls has the line of the call.
#include <cuda_runtime.h>

#include "included.cuh"

enum { N = 64 };

__global__ void use(float *y, const float *x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = twice(x, i + 1); //@call
}

int main(void) {
  float *x, *y;
  cudaMalloc(&x, N * sizeof *x);
  cudaMalloc(&y, N * sizeof *y);
  fill<<<1, 2 * N>>>(x, N);
  use<<<1, N>>>(y, x);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
