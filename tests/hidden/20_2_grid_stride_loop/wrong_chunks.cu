// mistake: contiguous chunk per thread
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int threads = gridDim.x * blockDim.x;
  int chunk = (n + threads - 1) / threads;
  for (int i = thread * chunk; i < (thread + 1) * chunk && i < n; i++) {
    x[i] = a * x[i] + b;
    who[i] = thread;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
