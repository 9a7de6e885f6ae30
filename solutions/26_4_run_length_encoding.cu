// Exercise 26.4: Run-length encoding                 lesson 26 · hard · 60 min
//
// Task      Find the runs of equal neighboring elements. Store the value and
//           the length of each run, in order, and the number of runs:
//               torch.unique_consecutive(x, return_counts=True)
// Example   x = 7 7 7 2 5 5 7   ->   values = 7 2 5 7, lengths = 3 1 2 1,
//           *count = 4
// Write     runs_on_device and the kernels that it launches.
// Inputs    values    device array of n ints
//           lengths   device array of n ints; in both arrays, leave the
//                     elements from index *count on unwritten
//           count     device memory for one int; write it even for n = 0
//           x         device array of n ints, any values
//           scratch   device array of n + 2048 ints, yours to use
//           n         0 to 100,000
// Required  - correct for every input, in any order of the blocks, without data
//             races or out-of-bounds accesses
//           - no copy to the host, no host synchronization
// Stars     ** parallel: several blocks, and at least 20 % active lanes overall
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

// [answer]
// The head of a run is its first element.
static __device__ int is_head(const int *x, int i, int n) {
  return i < n && (i == 0 || x[i] != x[i - 1]);
}

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

__global__ void count_heads(int *counts, const int *x, int n) {
  int heads = __syncthreads_count(is_head(x, blockIdx.x * THREADS + threadIdx.x, n));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = heads;
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

__global__ void write_starts(int *starts, const int *offsets, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, flag = is_head(x, i, n), total;
  int run = offsets[blockIdx.x] + block_scan(flag, &total) - flag;
  if (flag)
    starts[run] = i;
}

__global__ void write_runs(int *values, int *lengths, const int *count, const int *starts, const int *x, int n) {
  int run = blockIdx.x * THREADS + threadIdx.x;
  if (run >= *count)
    return;
  int end = run + 1 < *count ? starts[run + 1] : n;
  values[run] = x[starts[run]];
  lengths[run] = end - starts[run];
}
// [stub]
//| __global__ void count_heads(int *counts, const int *x, int n) {
//|   // one count per block
//| }
// [end]

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *scratch, int n) {
  // [answer]
  int blocks = (n + THREADS - 1) / THREADS;
  int *counts = scratch, *starts = scratch + 2048;
  if (blocks > 0)
    count_heads<<<blocks, THREADS>>>(counts, x, n);
  scan_counts<<<1, THREADS>>>(counts, count, blocks);
  if (blocks == 0)
    return;
  write_starts<<<blocks, THREADS>>>(starts, counts, x, n);
  write_runs<<<blocks, THREADS>>>(values, lengths, count, starts, x, n);
  // [stub]
  // [end]
}
