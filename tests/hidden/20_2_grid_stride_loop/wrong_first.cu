// mistake: output elements not written
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = thread; i < n; i += gridDim.x * blockDim.x)
    x[i] = a * x[i] + b;
  (void)who;
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
