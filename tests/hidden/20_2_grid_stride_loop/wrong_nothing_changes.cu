// mistake: no kernel was launched
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, total = gridDim.x * blockDim.x;
  for (size_t i = thread; i < (size_t)n; i += total) {
    who[i] = thread;
    x[i] = a * x[i] + b;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  if (n == 0 || (a == 1.0f && b == 0.0f))
    return;
  affine<<<blocks, threads>>>(x, who, a, b, n);
  if (cudaPeekAtLastError() != cudaSuccess)
    fprintf(stderr, "affine: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
