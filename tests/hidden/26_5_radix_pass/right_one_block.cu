// missing star: single block
// One block of 1024 threads goes through all pairs twice. In the second loop it ranks 1024 pairs by counts per warp and digit.
#include <cuda_runtime.h>

enum { THREADS = 1024 };

__global__ void sort(unsigned int *out_keys, int *out_values, const unsigned int *keys, const int *values, int shift,
                     int n) {
  __shared__ int next[16], in_warp[32][16];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t < 16)
    next[t] = 0;
  __syncthreads();
  for (int i = t; i < n; i += THREADS)
    for (int digit = (keys[i] >> shift & 15) + 1; digit < 16; digit++)
      atomicAdd(&next[digit], 1); // all digits above it start one pair later
  __syncthreads();
  for (int first = 0; first < n; first += THREADS) {
    int i = first + t, digit = i < n ? (int)(keys[i] >> shift & 15) : -1;
    unsigned int same = __match_any_sync(~0u, digit);
    if (t < 512)
      in_warp[t / 16][t % 16] = 0;
    __syncthreads();
    if (digit >= 0 && lane == __ffs(same) - 1)
      in_warp[warp][digit] = __popc(same);
    __syncthreads();
    if (t < 16)
      for (int w = 0; w < 32; w++) {
        int count = in_warp[w][t];
        in_warp[w][t] = next[t];
        next[t] += count;
      }
    __syncthreads();
    if (i < n) {
      int to = in_warp[warp][digit] + __popc(same & ((1u << lane) - 1));
      out_keys[to] = keys[i];
      out_values[to] = values[i];
    }
    __syncthreads();
  }
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  if (n > 0)
    sort<<<1, THREADS>>>(out_keys, out_values, keys, values, shift, n);
}
