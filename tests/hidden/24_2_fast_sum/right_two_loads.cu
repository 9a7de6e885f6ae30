// stars: 3
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * (2 * THREADS) + t;
  part[t] = (i < n ? x[i] : 0) + (i + THREADS < n ? x[i + THREADS] : 0);
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(out, part[0]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  add_up<<<(n + 2 * THREADS - 1) / (2 * THREADS), THREADS>>>(out, x, n);
}
