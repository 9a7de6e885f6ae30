// A 64-bit index, an early return in the kernel, and cudaLaunchKernel.
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= n)
    return;
  for (long long i = first; i < n; i += stride) {
    float value = x[i];
    value *= a;
    value += b;
    x[i] = value;
    who[i] = (int)first;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  void *arguments[5] = {&x, &who, &a, &b, &n};
  cudaLaunchKernel((void *)affine, blocks, threads, arguments, 0, NULL);
}
