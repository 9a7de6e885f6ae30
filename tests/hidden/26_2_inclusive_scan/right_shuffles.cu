#include <cuda_runtime.h>

enum { THREADS = 512, WARPS = THREADS / 32 };

static __device__ int warp_scan(int x) {
  for (int before = 1; before < 32; before *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, before);
    x += (int)(threadIdx.x % 32) >= before ? other : 0;
  }
  return x;
}

static __device__ int block_scan(int x, int *all) {
  __shared__ int of_warp[WARPS];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, before = 0;
  x = warp_scan(x);
  if (lane == 31)
    of_warp[warp] = x;
  __syncthreads();
  *all = 0;
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? of_warp[w] : 0;
    *all += of_warp[w];
  }
  __syncthreads();
  return x + before;
}

// First the sums alone; each block then adds up those before its own.
__global__ void sum_pieces(int *sums, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, all;
  block_scan(i < n ? x[i] : 0, &all);
  if (threadIdx.x == 0)
    sums[blockIdx.x] = all;
}

__global__ void scan_pieces(int *out, const int *sums, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, own = 0, before, all;
  for (int b = threadIdx.x; b < (int)blockIdx.x; b += THREADS)
    own += sums[b];
  block_scan(own, &before);
  own = block_scan(i < n ? x[i] : 0, &all);
  if (i < n)
    out[i] = before + own;
}

extern "C" void scan_on_device(int *out, const int *x, int *room, int n) {
  if (n <= 0)
    return;
  sum_pieces<<<(n + THREADS - 1) / THREADS, THREADS>>>(room, x, n);
  scan_pieces<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, room, x, n);
}
