// mistake: out-of-bounds access
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, BITS = 4, DIGITS = 1 << BITS };

static __device__ int digit_of(unsigned int key, int shift) {
  return key >> shift;
}

// Inclusive scan of one value per thread. Sets *total to the sum of the block.
static __device__ int block_scan(int x, int *total) {
  __shared__ int warp_sums[WARPS];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = 0;
  for (int distance = 1; distance < WARP; distance *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, distance);
    x += lane >= distance ? other : 0;
  }
  if (lane == WARP - 1)
    warp_sums[warp] = x;
  __syncthreads();
  *total = 0;
  for (int w = 0; w < WARPS; w++) {
    before += w < warp ? warp_sums[w] : 0;
    *total += warp_sums[w];
  }
  __syncthreads(); // all threads have read the sums that the next call overwrites
  return x + before;
}

// The counts of digit 0 in all blocks come first, then those of digit 1, and so on.
__global__ void count_digits(int *counts, const unsigned int *keys, int shift, int n) {
  __shared__ int bins[DIGITS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  if (t < DIGITS)
    bins[t] = 0;
  __syncthreads();
  if (i < n)
    atomicAdd(&bins[digit_of(keys[i], shift)], 1);
  __syncthreads();
  if (t < DIGITS)
    counts[t * gridDim.x + blockIdx.x] = bins[t];
}

// Replaces each count with its offset, the sum of all earlier counts.
__global__ void scan_counts(int *counts, int n) {
  int carry = 0, total;
  for (int first = 0; first < n; first += THREADS) {
    int i = first + threadIdx.x, own = i < n ? counts[i] : 0, sum = block_scan(own, &total);
    if (i < n)
      counts[i] = carry + sum - own;
    carry += total;
  }
}

// The lanes of the warp that have the same digit: one vote for each bit. Lanes past the end have their own digit, 16.
static __device__ unsigned int lanes_with(int digit) {
  unsigned int lanes = 0xffffffffu;
  for (int bit = 0; bit <= BITS; bit++) {
    unsigned int votes = __ballot_sync(0xffffffffu, digit >> bit & 1);
    lanes &= digit >> bit & 1 ? votes : ~votes;
  }
  return lanes;
}

__global__ void move_pairs(unsigned int *out_keys, int *out_values, const int *offsets, const unsigned int *keys,
                           const int *values, int shift, int n) {
  __shared__ int counts[WARPS][DIGITS];
  int t = threadIdx.x, i = blockIdx.x * THREADS + t, lane = t % WARP, warp = t / WARP;
  unsigned int key = i < n ? keys[i] : 0;
  int digit = i < n ? digit_of(key, shift) : DIGITS;
  unsigned int lanes = lanes_with(digit);
  int rank = __popc(lanes & ((1u << lane) - 1)); // of the pair among those with the same digit in its warp
  if (t < WARPS * DIGITS)
    counts[t / DIGITS][t % DIGITS] = 0;
  __syncthreads();
  if (i < n && rank == 0)
    counts[warp][digit] = __popc(lanes);
  __syncthreads();
  if (i >= n)
    return;
  int index = offsets[digit * gridDim.x + blockIdx.x] + rank;
  for (int w = 0; w < warp; w++)
    index += counts[w][digit];
  out_keys[index] = key;
  out_values[index] = values[i];
}

extern "C" void radix_pass_on_device(unsigned int *out_keys, int *out_values, const unsigned int *keys,
                                     const int *values, int *scratch, int shift, int n) {
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks == 0)
    return;
  count_digits<<<blocks, THREADS>>>(scratch, keys, shift, n);
  scan_counts<<<1, THREADS>>>(scratch, DIGITS * blocks);
  move_pairs<<<blocks, THREADS>>>(out_keys, out_values, scratch, keys, values, shift, n);
}
