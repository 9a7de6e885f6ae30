// A tile with a halo of one element on each side.
#include <cuda_runtime.h>

enum { THREADS = 128 };

__global__ void smooth(float *out, const float *x, int n) {
  __shared__ float tile[THREADS + 2];
  const int first = blockIdx.x * THREADS;
  for (int t = threadIdx.x; t < THREADS + 2; t += THREADS) {
    const int i = first + t - 1;
    tile[t] = x[i < 0 ? 0 : i < n ? i : n - 1];
  }
  __syncthreads();
  const int t = threadIdx.x + 1;
  if (first + t - 1 < n)
    out[first + t - 1] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3;
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
