// mistake: remainder left out
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int threads = gridDim.x * blockDim.x;
  for (int pass = 0; pass < n / threads; pass++) {
    x[pass * threads + thread] = a * x[pass * threads + thread] + b;
    who[pass * threads + thread] = thread;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
