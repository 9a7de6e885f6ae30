// mistake: block index missing
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = threadIdx.x;
  if (i < n && blockIdx.x == 0)
    y[i] += a * x[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<(n + 255) / 256, 256>>>(y, x, a, n);
}
