// mistake: invalid launch configuration
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.y * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<dim3(1, (n + 31) / 32), 32>>>(y, x, a, n);
}
