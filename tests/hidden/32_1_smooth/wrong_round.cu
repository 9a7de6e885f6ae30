// mistake: circular instead of replicate padding
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float before = x[(i + n - 1) % n], after = x[(i + 1) % n];
  out[i] = (before + x[i] + after) / 3;
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
