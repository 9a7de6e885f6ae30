// mistake: out-of-bounds read
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  float next = x[thread];
  for (int i = thread; i < n; i += stride) {
    float own = next;
    next = x[i + stride];
    x[i] = a * own + b;
    who[i] = thread;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
