// mistake: one launch per element
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = threadIdx.x;
  if (i < n)
    y[i] += a * x[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  for (int i = 0; i < n; i++)
    saxpy<<<1, 1>>>(y + i, x + i, a, 1);
}
