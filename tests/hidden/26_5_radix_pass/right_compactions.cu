// missing star: one scan per bit or digit
// Sixteen stream compactions, one for each digit. The number of pairs so far stays in device memory.
#include <cuda_runtime.h>

enum { THREADS = 128, WARPS = THREADS / 32 };

__global__ void clear(int *total) {
  *total = 0;
}

__global__ void count(int *counts, const unsigned int *keys, int shift, unsigned int digit, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(i < n && (keys[i] >> shift & 15) == digit);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

__global__ void scan(int *counts, int *total, int blocks) {
  int before = *total, lane = threadIdx.x;
  for (int first = 0; first < blocks; first += 32) {
    int own = first + lane < blocks ? counts[first + lane] : 0, sum = own;
    for (int distance = 1; distance < 32; distance *= 2) {
      int other = __shfl_up_sync(~0u, sum, distance);
      sum += lane >= distance ? other : 0;
    }
    if (first + lane < blocks)
      counts[first + lane] = before + sum - own;
    before += __shfl_sync(~0u, sum, 31);
  }
  if (lane == 0)
    *total = before;
}

__global__ void keep(unsigned int *out_keys, int *out_values, const int *counts, const unsigned int *keys,
                     const int *values, int shift, unsigned int digit, int n) {
  __shared__ int in_warp[WARPS];
  int i = blockIdx.x * THREADS + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  bool flag = i < n && (keys[i] >> shift & 15) == digit;
  unsigned int votes = __ballot_sync(~0u, flag);
  if (lane == 0)
    in_warp[warp] = __popc(votes);
  __syncthreads();
  int to = counts[blockIdx.x] + __popc(votes & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++)
    to += in_warp[w];
  if (flag) {
    out_keys[to] = keys[i];
    out_values[to] = values[i];
  }
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS, *counts = scratch + 1;
  if (n == 0)
    return;
  clear<<<1, 1>>>(scratch);
  for (unsigned int digit = 0; digit < 16; digit++) {
    count<<<blocks, THREADS>>>(counts, keys, shift, digit, n);
    scan<<<1, 32>>>(counts, scratch, blocks);
    keep<<<blocks, THREADS>>>(out_keys, out_values, counts, keys, values, shift, digit, n);
  }
}
