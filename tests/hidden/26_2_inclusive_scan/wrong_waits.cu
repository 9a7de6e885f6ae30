// mistake: host synchronization
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
  __shared__ int turns[2][THREADS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, from = 0;
  turns[0][t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < THREADS; step *= 2, from = 1 - from) {
    turns[1 - from][t] = turns[from][t] + (t >= step ? turns[from][t - step] : 0);
    __syncthreads();
  }
  if (i < n)
    out[i] = turns[from][t];
  if (t == 0)
    sums[blockIdx.x] = turns[from][THREADS - 1];
}

__global__ void add_before(int *out, const int *sums, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    out[i] += sums[blockIdx.x];
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  (void)room;
  if (n == 0)
    return;
  int blocks = (n + THREADS - 1) / THREADS;
  int *sums; // memory that both see, so that nothing needs to be copied
  cudaMallocHost((void **)&sums, blocks * sizeof(int));
  scan_pieces<<<blocks, THREADS>>>(out, sums, x, n);
  cudaDeviceSynchronize();
  int before = 0;
  for (int b = 0; b < blocks; b++) {
    int own = sums[b];
    sums[b] = before;
    before += own;
  }
  add_before<<<blocks, THREADS>>>(out, sums, n);
  cudaDeviceSynchronize();
  cudaFreeHost(sums);
}
