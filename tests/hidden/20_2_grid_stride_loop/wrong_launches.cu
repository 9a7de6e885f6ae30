// mistake: several launches
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = a * x[i] + b;
    who[i] = i;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  for (int begin = 0; begin < n; begin += blocks * threads)
    affine<<<blocks, threads>>>(x + begin, who + begin, a, b, n - begin);
}
