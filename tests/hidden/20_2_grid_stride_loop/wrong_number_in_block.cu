// mistake: thread index local to the block
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    x[i] = a * x[i] + b;
    who[i] = threadIdx.x;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
