// mistake: launch configuration ignored
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = a * x[i] + b;
    who[i] = i;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  (void)blocks;
  if (n > 0)
    affine<<<(n + threads - 1) / threads, threads>>>(x, who, a, b, n);
}
