// Exercise 26.3: Stream compaction                   lesson 26 · hard · 60 min
//
// Task      Copy the elements that are larger than a bound to the beginning of
//           out, in their original order, and count them:
//               out = x[x > bound]
// Example   x = 3 1 7 0 4, bound = 2   ->   out = 3 7 4, *count = 3
// Write     keep_on_device and the kernels that it launches.
// Inputs    out       device array of n floats; leave the elements from
//                     index *count on unwritten
//           count     device memory for one int; write it even for n = 0
//           x         device array of n floats; a NaN is not kept
//           scratch   device array of 2048 ints, yours to use
//           bound     any float but NaN
//           n         0 to 100,000
// Required  - correct for every input, in any order of the blocks, without data
//             races or out-of-bounds accesses
//           - at most 8 kernel launches, no copy to the host
// Stars     ** parallel: several blocks, and at least 20 % active lanes overall
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

// [answer]
// Inclusive scan of one value per thread. Sets *total to the sum of the block.
static __device__ int block_scan(int x, int *total) {
  __shared__ int warp_sums[THREADS / WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = 0;
  for (int distance = 1; distance < WARP; distance *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, distance);
    x += lane >= distance ? other : 0;
  }
  if (lane == WARP - 1)
    warp_sums[warp] = x;
  __syncthreads();
  *total = 0;
  for (int w = 0; w < THREADS / WARP; w++) {
    before += w < warp ? warp_sums[w] : 0;
    *total += warp_sums[w];
  }
  __syncthreads(); // all threads have read the sums that the next call overwrites
  return x + before;
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(i < n && x[i] > bound);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

// Replaces each block's count with its offset, the sum of all earlier counts. Sets *count to the sum of all counts.
__global__ void scan_counts(int *counts, int *count, int blocks) {
  int carry = 0, total;
  for (int first = 0; first < blocks; first += THREADS) {
    int b = first + threadIdx.x, own = b < blocks ? counts[b] : 0, sum = block_scan(own, &total);
    if (b < blocks)
      counts[b] = carry + sum - own;
    carry += total;
  }
  if (threadIdx.x == 0)
    *count = carry;
}

__global__ void write_kept(float *out, const int *offsets, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = i < n && x[i] > bound, total;
  int index = offsets[blockIdx.x] + block_scan(flag, &total) - flag;
  if (flag)
    out[index] = x[i];
}
// [stub]
//| __global__ void count_kept(int *counts, const float *x, float bound, int n) {
//|   // one count per block
//| }
// [end]

extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  if (blocks > 0)
    count_kept<<<blocks, THREADS>>>(scratch, x, bound, n);
  scan_counts<<<1, THREADS>>>(scratch, count, blocks);
  if (blocks > 0)
    write_kept<<<blocks, THREADS>>>(out, scratch, x, bound, n);
  // [stub]
  // [end]
}
