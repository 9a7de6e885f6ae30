// mistake: run cut at a block boundary
#include <cuda_runtime.h>

enum { THREADS = 384, WARP = 32, WARPS = THREADS / WARP };

static __device__ bool is_head(const int *x, int i, int n) {
  return i < n && (threadIdx.x == 0 || x[i] != x[i - 1]);
}

__global__ void count_heads(int *counts, const int *x, int n) {
  int heads = __syncthreads_count(is_head(x, blockIdx.x * THREADS + threadIdx.x, n));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = heads;
}

__global__ void buffers_heads(int *values, int *starts, int *count, const int *counts, const int *x, int n) {
  __shared__ int sums[WARPS];
  __shared__ int warps[WARPS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, before = 0;
  bool head = is_head(x, i, n);
  unsigned heads = __ballot_sync(0xffffffffu, head);
  for (int b = t; b < (int)blockIdx.x; b += THREADS)
    before += counts[b];
  for (int d = 1; d < WARP; d *= 2)
    before += __shfl_xor_sync(0xffffffffu, before, d);
  if (t % WARP == 0) {
    sums[t / WARP] = before;
    warps[t / WARP] = __popc(heads);
  }
  __syncthreads();
  int place = 0;
  for (int w = 0; w < WARPS; w++)
    place += sums[w] + (w < t / WARP ? warps[w] : 0);
  if (head) {
    int at = place + __popc(heads & ((1u << t % WARP) - 1));
    values[at] = x[i];
    starts[at] = i;
  }
  if (blockIdx.x == gridDim.x - 1 && t == THREADS - 1)
    *count = place + __popc(heads);
}

__global__ void measure(int *lengths, const int *starts, const int *count, int n) {
  int runs = *count;
  for (int r = blockIdx.x * blockDim.x + threadIdx.x; r < runs; r += gridDim.x * blockDim.x)
    lengths[r] = (r + 1 < runs ? starts[r + 1] : n) - starts[r];
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *room, int n) {
  int blocks = n > 0 ? (n - 1) / THREADS + 1 : 1;
  int *starts = room, *counts = room + n;
  count_heads<<<blocks, THREADS>>>(counts, x, n);
  buffers_heads<<<blocks, THREADS>>>(values, starts, count, counts, x, n);
  measure<<<48, 64>>>(lengths, starts, count, n);
}
