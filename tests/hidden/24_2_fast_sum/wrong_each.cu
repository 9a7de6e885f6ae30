// mistake: too many atomic operations
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void add_up(float *out, const float *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    atomicAdd(out, x[i]);
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  add_up<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
