// missing star: single block
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  if (n > 0)
    saxpy<<<1, 256>>>(y, x, a, n);
}
