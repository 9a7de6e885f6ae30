// stars: 1
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2) {
    int j = 2 * step * t;
    if (j < THREADS)
      part[j] += part[j + step];
    __syncthreads();
  }
  if (t == 0)
    atomicAdd(out, part[0]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  add_up<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
