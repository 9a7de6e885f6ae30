// mistake: wrong length of the last run
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

static __device__ int is_head(const int *x, int i, int n) {
  return i < n && (i == 0 || x[i] != x[i - 1]);
}

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

__global__ void count_heads(int *counts, const int *x, int n) {
  int heads = __syncthreads_count(is_head(x, blockIdx.x * THREADS + threadIdx.x, n));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = heads;
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

__global__ void write_heads(int *starts, const int *before, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = is_head(x, i, n), all;
  int run = before[blockIdx.x] + block_scan(flag, &all) - flag;
  if (flag)
    starts[run] = i;
}

__global__ void write_runs(int *values, int *lengths, const int *count, const int *starts, const int *x, int n) {
  int run = blockIdx.x * THREADS + threadIdx.x;
  if (run >= *count)
    return;
  int end = run + 1 < *count ? starts[run + 1] : starts[run] + 1;
  values[run] = x[starts[run]];
  lengths[run] = end - starts[run];
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  int *counts = room, *starts = room + 2048;
  if (blocks > 0)
    count_heads<<<blocks, THREADS>>>(counts, x, n);
  scan_counts<<<1, THREADS>>>(counts, count, blocks);
  if (blocks == 0)
    return;
  write_heads<<<blocks, THREADS>>>(starts, counts, x, n);
  write_runs<<<blocks, THREADS>>>(values, lengths, count, starts, x, n);
}
