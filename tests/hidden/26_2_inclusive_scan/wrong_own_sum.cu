// mistake: own chunk total in the offset
#include <cuda_runtime.h>

enum { THREADS = 256 };

__device__ int scan_block(int *line, int value) {
  int t = threadIdx.x;
  line[t] = value;
  __syncthreads();
  for (int d = 1; d < THREADS; d *= 2) {
    int before = t >= d ? line[t - d] : 0;
    __syncthreads();
    line[t] += before;
    __syncthreads();
  }
  return line[t];
}

__global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
  __shared__ int line[THREADS];
  int i = blockIdx.x * THREADS + threadIdx.x;
  int sum = scan_block(line, i < n ? x[i] : 0);
  if (i < n)
    out[i] = sum;
  if (threadIdx.x == THREADS - 1)
    sums[blockIdx.x] = sum;
}

__global__ void scan_sums(int *sums, int count) {
  __shared__ int line[THREADS];
  int carry = 0;
  for (int from = 0; from < count; from += THREADS) {
    int i = from + threadIdx.x;
    int sum = scan_block(line, i < count ? sums[i] : 0) + carry;
    if (i < count)
      sums[i] = sum;
    carry += line[THREADS - 1];
    __syncthreads();
  }
}

__global__ void add_before(int *out, const int *sums, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (blockIdx.x > 0 && i < n)
    out[i] += sums[blockIdx.x];
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  if (n == 0)
    return;
  int blocks = (n + THREADS - 1) / THREADS;
  scan_pieces<<<blocks, THREADS>>>(out, room, x, n);
  scan_sums<<<1, THREADS>>>(room, blocks);
  add_before<<<blocks, THREADS>>>(out, room, n);
}
