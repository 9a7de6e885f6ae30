// A grid-stride loop under at most 1024 blocks.
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] += a * x[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  int blocks = (n + 255) / 256;
  if (blocks > 1024)
    blocks = 1024;
  if (blocks)
    saxpy<<<blocks, 256, 0, cudaStreamLegacy>>>(y, x, a, n);
}
