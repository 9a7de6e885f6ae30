// mistake: more chunks than threads
#include <cuda_runtime.h>

enum { THREADS = 256 };

__device__ int flag_of(const int *x, int i, int n) {
  return i < n && (i == 0 || x[i] != x[i - 1]);
}

__device__ int scanned(int number) {
  __shared__ int before[2][THREADS];
  int t = threadIdx.x, turn = 0;
  before[0][t] = number;
  __syncthreads();
  for (int apart = 1; apart < THREADS; apart *= 2, turn ^= 1) {
    before[turn ^ 1][t] = before[turn][t] + (t >= apart ? before[turn][t - apart] : 0);
    __syncthreads();
  }
  int sum = before[turn][t];
  __syncthreads();
  return sum;
}

__global__ void count_flags(int *sums, const int *x, int n) {
  int sum = scanned(flag_of(x, blockIdx.x * THREADS + threadIdx.x, n));
  if (threadIdx.x == THREADS - 1)
    sums[blockIdx.x] = sum;
}

__global__ void scan_sums(int *sums, int *count, int blocks) {
  int own = (int)threadIdx.x < blocks ? sums[threadIdx.x] : 0, sum = scanned(own);
  if ((int)threadIdx.x < blocks)
    sums[threadIdx.x] = sum - own;
  if (threadIdx.x == THREADS - 1)
    *count = sum;
}

__global__ void write_heads(int *values, int *places, const int *sums, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = flag_of(x, i, n), rank = scanned(flag) - 1;
  if (flag && blockIdx.x < THREADS) {
    values[sums[blockIdx.x] + rank] = x[i];
    places[sums[blockIdx.x] + rank] = i;
  }
}

__global__ void write_lengths(int *lengths, const int *places, const int *count, int n) {
  int run = blockIdx.x * THREADS + threadIdx.x;
  if (run < *count)
    lengths[run] = (run + 1 < *count ? places[run + 1] : n) - places[run];
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  cudaMemsetAsync(count, 0, sizeof *count);
  if (n == 0)
    return;
  count_flags<<<blocks, THREADS>>>(room, x, n);
  scan_sums<<<1, THREADS>>>(room, count, blocks);
  write_heads<<<blocks, THREADS>>>(values, room + 2048, room, x, n);
  write_lengths<<<blocks, THREADS>>>(lengths, room + 2048, count, n);
}
