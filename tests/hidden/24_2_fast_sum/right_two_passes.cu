// stars: 3
#include <cuda_runtime.h>

enum { THREADS = 256 };

// Each block leaves its sum in room, and a second launch of one block adds those up: no atomic operations.
__global__ void add_up(float *out, const float *x, int n) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * THREADS + t; i < n; i += gridDim.x * THREADS)
    sum += x[i];
  part[t] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 320)
    blocks = 320;
  add_up<<<blocks, THREADS>>>(room, x, n);
  add_up<<<1, THREADS>>>(out, room, blocks);
}
