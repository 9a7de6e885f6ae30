// Exercise 25.3: Stream compaction                    lesson 25 · hard · 60 min
//
// Task      Keep the elements that are greater than a bound, close together and
//           in their order, as out = x[x > bound] does (stream compaction):
//               out[0 .. *count-1] = the x[i] > bound, in the order of x
// Example   x = 5 1 7 3 6, bound = 4   ->   out = 5 7 6, count = 3
// Write     keep_on_device and the kernels that it launches.
// Inputs    x, out    device arrays of n floats; x may contain NaN, which is
//                     never greater
//           n         0 to 100,000
//           count     1 int on the device, to be written for n = 0 as well
//           bound     any number but NaN
//           scratch   device array of 2048 ints, yours to use
// Required  - correct for every n and in the order of x, whatever order the
//             threads and blocks run in; nothing written after out[*count-1]
//           - no copy to the host, no data races, no out-of-bounds accesses
// Stars     ** at most 4 launches
//           *** no serial kernel: at least 20 % active lanes in each
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

// [answer]
// Inclusive scan of one value per thread; *total becomes the sum of the block.
static __device__ int block_scan(int x, int *total) {
  __shared__ int warp_totals[THREADS / WARP];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, before = 0;
  for (int stride = 1; stride < WARP; stride *= 2) {
    int other = __shfl_up_sync(0xffffffffu, x, stride);
    x += lane >= stride ? other : 0;
  }
  if (lane == WARP - 1)
    warp_totals[warp] = x;
  __syncthreads();
  *total = 0;
  for (int w = 0; w < THREADS / WARP; w++) {
    before += w < warp ? warp_totals[w] : 0;
    *total += warp_totals[w];
  }
  __syncthreads(); // every thread has read what the next call overwrites
  return x + before;
}

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  int kept = __syncthreads_count(i < n && x[i] > bound);
  if (threadIdx.x == 0)
    counts[blockIdx.x] = kept;
}

// Replaces the count of each block by its exclusive prefix sum; *count becomes the sum of all.
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
//|   // counts[blockIdx.x] = ...
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
