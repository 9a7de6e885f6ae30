// missing star: block smaller than a warp
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<n, 1>>>(y, x, a, n);
}
