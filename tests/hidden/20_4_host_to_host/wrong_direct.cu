// mistake: host pointer passed to a kernel
#include <cuda_runtime.h>

__global__ void times(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i];
}

extern "C" void scale_on_device(float *y, const float *x, float a, int n, int *error) {
  *error = 0;
  if (n > 0)
    times<<<(n + 255) / 256, 256>>>(y, x, a, n);
}
