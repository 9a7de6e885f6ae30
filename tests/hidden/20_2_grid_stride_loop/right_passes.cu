// Counted passes, rounded up, with a guard in the last one; nothing is launched for nothing.
#include <cuda_runtime.h>

__global__ void affine_passes(float *x, int *who, float a, float b, int n) {
  const int all = gridDim.x * blockDim.x;
  const int self = threadIdx.x + blockDim.x * blockIdx.x;
  const int passes = (n + all - 1) / all;
  for (int pass = 0; pass < passes; pass++) {
    const int i = pass * all + self;
    if (i >= n)
      break;
    who[i] = self;
    x[i] = x[i] * a + b;
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  if (n == 0)
    return;
  affine_passes<<<dim3(blocks), dim3(threads)>>>(x, who, a, b, n);
}
