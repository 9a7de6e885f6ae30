// mistake: scratch buffer overflow
// A partial sum for each 2048 elements: room has 1024 of them, as many as the scored size needs.
#include <cuda_runtime.h>

enum { THREADS = 256, EACH = 8 };

// The sum of `count` of x, in thread 0.
static __device__ float block_sum(const float *x, int count) {
  __shared__ float part[THREADS];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = t; i < count; i += THREADS)
    sum += x[i];
  part[t] = sum;
  __syncthreads();
  for (int half = THREADS / 2; half > 0; half /= 2) {
    if (t < half)
      part[t] += part[t + half];
    __syncthreads();
  }
  return part[0];
}

__global__ void add_parts(float *room, const float *x, int n) {
  int first = blockIdx.x * THREADS * EACH;
  float sum = block_sum(x + first, min(n - first, THREADS * EACH));
  if (threadIdx.x == 0)
    room[blockIdx.x] = sum;
}

__global__ void add_up(float *out, const float *room, int count) {
  float sum = block_sum(room, count);
  if (threadIdx.x == 0)
    *out = sum;
}

extern "C" void sum_on_device(float *out, const float *x, float *room, int n) {
  int blocks = (n + THREADS * EACH - 1) / (THREADS * EACH);
  add_parts<<<blocks, THREADS>>>(room, x, n);
  add_up<<<1, THREADS>>>(out, room, blocks);
}
