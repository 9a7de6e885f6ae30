// mistake: ends not computed
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 || i >= n - 1)
    return;
  float before = x[i > 0 ? i - 1 : i], after = x[i < n - 1 ? i + 1 : i];
  out[i] = (before + x[i] + after) / 3;
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
