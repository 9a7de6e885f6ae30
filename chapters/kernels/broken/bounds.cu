// Broken on purpose (lesson 32): no bounds check, and n is not a multiple of the block size.
#include <cuda_runtime.h>

enum { N = 1000, THREADS = 256 };

// [kernel]
__global__ void scale(float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 2 * x[i];
}
// [end]

int main(void) {
  float *x;
  cudaMalloc((void **)&x, N * sizeof(float));
  cudaMemset(x, 0, N * sizeof(float));
  scale<<<(N + THREADS - 1) / THREADS, THREADS>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
  return 0;
}
