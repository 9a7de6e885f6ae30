// mistake: more chunks than threads
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, MOST = 256 };

__device__ bool is_kept(const float *x, float bound, int i, int n) {
  return i < n && x[i] > bound;
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(is_kept(x, bound, i, n));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

__global__ void scan_counts(int *counts, int *count, int blocks) {
  __shared__ int sums[MOST];
  int t = threadIdx.x;
  int own = t < blocks ? counts[t] : 0;
  sums[t] = own;
  __syncthreads();
  for (int step = 1; step < MOST; step *= 2) {
    int before = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += before;
    __syncthreads();
  }
  if (t < blocks)
    counts[t] = sums[t] - own;
  if (t == MOST - 1)
    *count = sums[t];
}

__global__ void write_kept(float *out, const int *places, const float *x, float bound, int n) {
  __shared__ int of_warp[THREADS / WARP];
  int t = threadIdx.x, lane = t % WARP, warp = t / WARP;
  int i = blockIdx.x * THREADS + t;
  bool kept = is_kept(x, bound, i, n);
  unsigned int votes = __ballot_sync(0xffffffffu, kept);
  if (lane == 0)
    of_warp[warp] = __popc(votes);
  __syncthreads();
  int place = places[blockIdx.x];
  for (int w = 0; w < warp; w++)
    place += of_warp[w];
  if (kept)
    out[place + __popc(votes & ((1u << lane) - 1))] = x[i];
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *room, float bound, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    count_kept<<<blocks, THREADS>>>(room, x, bound, n);
  scan_counts<<<1, MOST>>>(room, count, blocks);
  if (blocks > 0)
    write_kept<<<blocks, THREADS>>>(out, room, x, bound, n);
}
