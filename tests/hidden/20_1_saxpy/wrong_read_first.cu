// mistake: out-of-bounds read
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float own = a * x[i];
  if (i < n)
    y[i] += own;
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<(n + 255) / 256, 256>>>(y, x, a, n);
}
