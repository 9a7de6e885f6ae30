#include <cuda_runtime.h>

__global__ void smooth(float *out, const float *x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int k = i - 1; k <= i + 1; k++)
      sum += x[min(max(k, 0), n - 1)];
    out[i] = sum / 3;
  }
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<2, 128>>>(out, x, n);
}
