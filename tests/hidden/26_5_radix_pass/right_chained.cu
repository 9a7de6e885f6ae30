// One histogram for all, then one launch in which each block waits for the sixteen sums of the previous one (a chained scan).
#include <cuda_runtime.h>

enum { THREADS = 192, WARPS = THREADS / 32 };

__global__ void count(int *bins, const unsigned int *keys, int shift, int n) {
  __shared__ int own[16];
  if (threadIdx.x < 16)
    own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS)
    atomicAdd(&own[keys[i] >> shift & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16)
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void move(unsigned int *out_keys, int *out_values, int *bins, int *next_block, int *ends,
                     const unsigned int *keys, const int *values, int shift, int n) {
  __shared__ int block, begin[16], in_warp[WARPS][16];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t == 0)
    block = atomicAdd(next_block, 1);
  if (t < WARPS * 16)
    in_warp[t / 16][t % 16] = 0;
  __syncthreads();
  int i = block * THREADS + t, digit = i < n ? (int)(keys[i] >> shift & 15) : 16;
  unsigned int same = __match_any_sync(~0u, digit);
  if (i < n && lane == __ffs(same) - 1)
    in_warp[warp][digit] = __popc(same);
  __syncthreads();
  if (t < 16) {
    int sum = 0, before = 0;
    for (int w = 0; w < WARPS; w++) {
      int own = in_warp[w][t];
      in_warp[w][t] = sum;
      sum += own;
    }
    if (block == 0)
      for (int d = 0; d < t; d++)
        before += bins[d];
    else
      while ((before = atomicAdd(&ends[(block - 1) * 16 + t], 0) - 1) < 0) // 0: not known yet
        continue;
    begin[t] = before;
    __threadfence();
    atomicExch(&ends[block * 16 + t], before + sum + 1);
  }
  __syncthreads();
  if (i >= n)
    return;
  int to = begin[digit] + in_warp[warp][digit] + __popc(same & ((1u << lane) - 1));
  out_keys[to] = keys[i];
  out_values[to] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 0)
    return;
  cudaMemsetAsync(scratch, 0, (17 + 16 * blocks) * sizeof(int));
  count<<<32, THREADS>>>(scratch, keys, shift, n);
  move<<<blocks, THREADS>>>(out_keys, out_values, scratch, scratch + 16, scratch + 17, keys, values, shift, n);
}
