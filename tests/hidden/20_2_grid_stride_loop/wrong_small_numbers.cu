// mistake: the thread's number in 16 bits
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  unsigned short t = blockIdx.x * blockDim.x + threadIdx.x;
  int all = gridDim.x * blockDim.x;
  for (int i = t; i < n; i += all) {
    x[i] = a * x[i] + b;
    who[i] = t;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "affine: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
