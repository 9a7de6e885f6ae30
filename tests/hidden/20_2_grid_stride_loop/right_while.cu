// The index walks in a while loop; the last pass is cut by comparing, the numbers are 64-bit.
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int self = (int)i;
  while (i < n) {
    x[i] *= a;
    x[i] += b;
    who[i] = self;
    i += (long long)blockDim.x * gridDim.x;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
