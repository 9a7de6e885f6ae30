// mistake: launch configuration ignored
#include <cuda_runtime.h>

// One thread runs the CPU's loop.
__global__ void affine(float *x, int *who, float a, float b, int n) {
  for (int i = 0; i < n; i++) {
    x[i] = a * x[i] + b;
    who[i] = 0;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  (void)blocks;
  (void)threads;
  affine<<<1, 1>>>(x, who, a, b, n);
}
