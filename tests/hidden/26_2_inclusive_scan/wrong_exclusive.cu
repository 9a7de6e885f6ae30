// mistake: exclusive scan
#include <cuda_runtime.h>

enum { THREADS = 256 };

// The inclusive scan of a block's numbers; *all becomes the sum of all of them.
static __device__ int block_scan(int own, int *all) {
  __shared__ int sums[2][THREADS];
  int t = threadIdx.x, now = 0;
  sums[now][t] = own;
  __syncthreads();
  for (int before = 1; before < THREADS; before *= 2) {
    sums[!now][t] = sums[now][t] + (t >= before ? sums[now][t - before] : 0);
    now = !now;
    __syncthreads();
  }
  *all = sums[now][THREADS - 1];
  int sum = sums[now][t];
  __syncthreads(); // all have read what the next call writes
  return sum;
}

__global__ void scan_pieces(int *out, int *sums, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  int sum = block_scan(i < n ? x[i] : 0, &all);
  if (i < n)
    out[i] = sum - x[i];
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}

// What stands before each piece, in place of its sum.
__global__ void scan_sums(int *sums, int pieces) {
  int before = 0, all;
  for (int first = 0; first < pieces; first += THREADS) {
    int i = first + threadIdx.x, own = i < pieces ? sums[i] : 0, sum = block_scan(own, &all);
    if (i < pieces)
      sums[i] = before + sum - own;
    before += all;
  }
}

__global__ void add_before(int *out, const int *sums, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    out[i] += sums[blockIdx.x];
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  int pieces = (n + THREADS - 1) / THREADS;
  if (pieces == 0)
    return;
  scan_pieces<<<pieces, THREADS>>>(out, room, x, n);
  scan_sums<<<1, THREADS>>>(room, pieces);
  add_before<<<pieces, THREADS>>>(out, room, n);
}
