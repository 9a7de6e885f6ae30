// mistake: sorted by the wrong bits
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void count_zeros(int *counts, const unsigned int *keys, int bit, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int zeros = __syncthreads_count(i < n && !(keys[i] >> bit & 1));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = zeros;
}

__global__ void scan_counts(int *counts, int blocks) {
  int sum = 0;
  for (int b = 0; b < blocks; b++) {
    int own = counts[b];
    counts[b] = sum;
    sum += own;
  }
  counts[blocks] = sum;
}

__global__ void split(unsigned int *out_keys, int *out_values, const int *counts, const unsigned int *keys,
                      const int *values, int bit, int n) {
  __shared__ int in_warp[THREADS / 32];
  int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int flag = i < n && !(keys[i] >> bit & 1);
  unsigned int votes = __ballot_sync(~0u, flag);
  if (lane == 0)
    in_warp[warp] = __popc(votes);
  __syncthreads();
  int before = counts[blockIdx.x] + __popc(votes & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++)
    before += in_warp[w];
  if (i >= n)
    return;
  int to = flag ? before : counts[gridDim.x] + i - before;
  out_keys[to] = keys[i];
  out_values[to] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (n == 0)
    return;
  count_zeros<<<blocks, THREADS>>>(scratch, keys, shift, n);
  scan_counts<<<1, 1>>>(scratch, blocks);
  split<<<blocks, THREADS>>>(out_keys, out_values, scratch, keys, values, shift, n);
}
