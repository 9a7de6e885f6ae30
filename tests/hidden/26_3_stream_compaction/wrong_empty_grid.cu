// mistake: empty grid
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

// The inclusive scan of a block's numbers; *all becomes the sum of all of them.
static __device__ int block_scan(int x, int *all) {
  __shared__ int of_warp[THREADS / WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = 0;
  for (int apart = 1; apart < WARP; apart *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, apart);
    x += lane >= apart ? other : 0;
  }
  if (lane == WARP - 1)
    of_warp[warp] = x;
  __syncthreads();
  *all = 0;
  for (int w = 0; w < THREADS / WARP; w++) {
    before += w < warp ? of_warp[w] : 0;
    *all += of_warp[w];
  }
  __syncthreads(); // all have read what the next call writes
  return x + before;
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(i < n && x[i] > bound);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

// What stands before each block, in place of its count; *count becomes the sum of all.
__global__ void scan_counts(int *counts, int *count, int blocks) {
  int before = 0, all;
  for (int first = 0; first < blocks; first += THREADS) {
    int b = first + threadIdx.x, own = b < blocks ? counts[b] : 0, sum = block_scan(own, &all);
    if (b < blocks)
      counts[b] = before + sum - own;
    before += all;
  }
  if (threadIdx.x == 0)
    *count = before;
}

__global__ void write_kept(float *out, const int *before, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = i < n && x[i] > bound, all;
  int place = before[blockIdx.x] + block_scan(flag, &all) - flag;
  if (flag)
    out[place] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  count_kept<<<blocks, THREADS>>>(room, x, bound, n);
  scan_counts<<<1, THREADS>>>(room, count, blocks);
  write_kept<<<blocks, THREADS>>>(out, room, x, bound, n);
}
