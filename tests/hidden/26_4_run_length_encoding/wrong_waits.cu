// mistake: host synchronization
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP };

static __device__ bool head(const int *x, int i) {
  return i == 0 || x[i] != x[i - 1];
}

__global__ void count_heads(int *counts, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int all = __syncthreads_count(i < n && head(x, i));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = all;
}

__global__ void scan_counts(int *counts, int *count, int blocks, int *also) {
  __shared__ int turns[2][THREADS];
  int t = threadIdx.x, before = 0;
  for (int base = 0; base < blocks; base += THREADS) {
    int own = base + t < blocks ? counts[base + t] : 0, from = 0;
    turns[0][t] = own;
    __syncthreads();
    for (int step = 1; step < THREADS; step *= 2, from = 1 - from) {
      turns[1 - from][t] = turns[from][t] + (t >= step ? turns[from][t - step] : 0);
      __syncthreads();
    }
    if (base + t < blocks)
      counts[base + t] = before + turns[from][t] - own;
    before += turns[from][THREADS - 1];
    __syncthreads();
  }
  if (t == 0)
    *count = before;
  if (t == 0)
    *also = before; // for the host, which launches as many threads
}

__global__ void write_heads(int *values, int *heads, const int *counts, const int *x, int n) {
  __shared__ int of_warps[WARPS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, lane = t % WARP, warp = t / WARP;
  bool mine = i < n && head(x, i);
  unsigned int votes = __ballot_sync(0xffffffffu, mine);
  if (lane == 0)
    of_warps[warp] = __popc(votes);
  __syncthreads();
  int place = counts[blockIdx.x];
  for (int w = 0; w < warp; w++)
    place += of_warps[w];
  place += __popc(votes & ((1u << lane) - 1));
  if (mine) {
    values[place] = x[i];
    heads[place] = i;
  }
}

__global__ void measure(int *lengths, const int *heads, int all, int n) {
  int k = blockIdx.x * THREADS + threadIdx.x;
  if (k < all)
    lengths[k] = (k + 1 < all ? heads[k + 1] : n) - heads[k];
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  int *counts = room, *heads = room + 2048;
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 0) {
    cudaMemsetAsync(count, 0, sizeof(int));
    return;
  }
  int *runs;
  cudaMallocHost((void **)&runs, sizeof(int));
  count_heads<<<blocks, THREADS>>>(counts, x, n);
  scan_counts<<<1, THREADS>>>(counts, count, blocks, runs);
  cudaDeviceSynchronize();
  write_heads<<<blocks, THREADS>>>(values, heads, counts, x, n);
  measure<<<(*runs + THREADS - 1) / THREADS, THREADS>>>(lengths, heads, *runs, n);
  cudaFreeHost(runs);
}
