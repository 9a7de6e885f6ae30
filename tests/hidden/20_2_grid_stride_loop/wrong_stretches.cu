// mistake: a piece of its own for each thread
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int all = gridDim.x * blockDim.x;
  int each = (n + all - 1) / all;
  for (int i = t * each; i < (t + 1) * each && i < n; i++) {
    x[i] = a * x[i] + b;
    who[i] = i % all;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "affine: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
