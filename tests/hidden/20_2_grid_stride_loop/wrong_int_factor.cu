// mistake: float truncated to int
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int stride = gridDim.x * blockDim.x, factor = a;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    x[i] = factor * x[i] + b;
    who[i] = blockIdx.x * blockDim.x + threadIdx.x;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
