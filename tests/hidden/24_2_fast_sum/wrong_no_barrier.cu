// mistake: missing barrier
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
  }
  if (t == 0)
    atomicAdd(out, part[0]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  add_up<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
