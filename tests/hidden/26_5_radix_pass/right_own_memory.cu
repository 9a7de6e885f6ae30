// Blocks of one warp, memory of its own, and a scan of the counts in three launches.
#include <cuda_runtime.h>

enum { CHUNK = 512 };

__global__ void count(int *counts, const unsigned int *keys, int shift, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  for (unsigned int digit = 0; digit < 16; digit++) {
    unsigned int votes = __ballot_sync(~0u, i < n && (keys[i] >> shift & 15) == digit);
    if (threadIdx.x == digit)
      counts[digit * gridDim.x + blockIdx.x] = __popc(votes);
  }
}

// Each block scans CHUNK counts in place and stores their sum.
__global__ void scan_chunks(int *counts, int *sums, int n) {
  __shared__ int all[CHUNK];
  int t = threadIdx.x, i = blockIdx.x * CHUNK + t, own = i < n ? counts[i] : 0;
  all[t] = own;
  __syncthreads();
  for (int distance = 1; distance < CHUNK; distance *= 2) {
    int other = t >= distance ? all[t - distance] : 0;
    __syncthreads();
    all[t] += other;
    __syncthreads();
  }
  if (i < n)
    counts[i] = all[t] - own;
  if (t == CHUNK - 1)
    sums[blockIdx.x] = all[t];
}

__global__ void add_sums(int *counts, const int *sums, int n) {
  int i = blockIdx.x * CHUNK + threadIdx.x, before = 0;
  for (unsigned int b = 0; b < blockIdx.x; b++)
    before += sums[b];
  if (i < n)
    counts[i] += before;
}

__global__ void move(unsigned int *out_keys, int *out_values, const int *counts, const unsigned int *keys,
                     const int *values, int shift, int n) {
  int i = blockIdx.x * 32 + threadIdx.x;
  int digit = i < n ? (int)(keys[i] >> shift & 15) : 16;
  unsigned int same = __match_any_sync(~0u, digit);
  if (i >= n)
    return;
  int to = counts[digit * gridDim.x + blockIdx.x] + __popc(same & ((1u << threadIdx.x) - 1));
  out_keys[to] = keys[i];
  out_values[to] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  if (n == 0)
    return;
  int blocks = (n + 31) / 32, chunks = (16 * blocks + CHUNK - 1) / CHUNK, *counts, *sums;
  cudaMalloc(&counts, 16 * blocks * sizeof(int));
  cudaMalloc(&sums, chunks * sizeof(int));
  count<<<blocks, 32>>>(counts, keys, shift, n);
  scan_chunks<<<chunks, CHUNK>>>(counts, sums, 16 * blocks);
  add_sums<<<chunks, CHUNK>>>(counts, sums, 16 * blocks);
  move<<<blocks, 32>>>(out_keys, out_values, counts, keys, values, shift, n);
  cudaFree(counts);
  cudaFree(sums);
}
