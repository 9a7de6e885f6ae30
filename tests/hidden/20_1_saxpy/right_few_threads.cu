// A block no larger than the array.
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  const int threads = n < 256 ? n : 256;
  if (n > 0)
    saxpy<<<(n + threads - 1) / threads, threads>>>(y, x, a, n);
}
