// mistake: mean of two at the ends
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const int from = max(i - 1, 0), to = min(i + 1, n - 1);
  float sum = 0;
  for (int k = from; k <= to; k++)
    sum += x[k];
  out[i] = sum / (to - from + 1);
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
