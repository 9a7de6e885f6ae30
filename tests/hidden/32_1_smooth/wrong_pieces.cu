// mistake: block boundaries treated as ends
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float own[THREADS];
  int t = threadIdx.x, end = min(THREADS, n - (int)blockIdx.x * THREADS);
  if (i < n)
    own[t] = x[i];
  __syncthreads();
  if (i < n)
    out[i] = (own[max(t - 1, 0)] + own[t] + own[min(t + 1, end - 1)]) / 3;
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
