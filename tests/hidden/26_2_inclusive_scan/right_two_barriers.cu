#include <cuda_runtime.h>

enum { THREADS = 1024 };

// One array, and two barriers a step. room holds one sum for each block, and there are at most 391 blocks.
__global__ void scan_pieces(int *out, int *sums, const int *x, int n, const int *before) {
  __shared__ int sum[THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  sum[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int apart = 1; apart < THREADS; apart *= 2) {
    int other = t >= apart ? sum[t - apart] : 0;
    __syncthreads();
    sum[t] += other;
    __syncthreads();
  }
  if (i < n)
    out[i] = sum[t] + (before && blockIdx.x > 0 ? before[blockIdx.x - 1] : 0);
  if (sums && t == THREADS - 1)
    sums[blockIdx.x] = sum[t];
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  int pieces = (n + THREADS - 1) / THREADS;
  if (n <= 0)
    return;
  scan_pieces<<<pieces, THREADS>>>(out, room, x, n, (const int *)0);
  scan_pieces<<<1, THREADS>>>(room + 1024, (int *)0, room, pieces, (const int *)0);
  scan_pieces<<<pieces, THREADS>>>(out, (int *)0, x, n, room + 1024);
}
