// Exercise 26.2: Inclusive scan                    lesson 26 · medium · 45 min
//
// Task      Compute the inclusive prefix sum of an array that is too long for
//           one block, as torch.cumsum(x, 0) does:
//               out[i] = x[0] + x[1] + ... + x[i]
// Example   x = 3 1 7 0 4   ->   out = 3 4 11 11 15
// Write     scan_on_device and the kernels that it launches.
// Inputs    x, out    device arrays of n ints, 16-byte aligned
//           n         0 to 400,000; no prefix sum overflows an int
//           scratch   device array of 2048 ints, yours to use
// Required  - correct for every n, without data races or out-of-bounds accesses
//           - at most 4 kernel launches
//           - no copy to the host, no host synchronization
// Stars     ** coalesced: at most 1.5 x the ideal sectors per request
//           *** no serial kernel: at least 20 % active lanes in each
#include <cuda_runtime.h>

enum { THREADS = 256 };

// [answer]
// Hillis-Steele inclusive scan of one value per thread. Sets *total to the sum of the block.
static __device__ int block_scan(int own, int *total) {
  __shared__ int sums[2][THREADS];
  int t = threadIdx.x, now = 0;
  sums[now][t] = own;
  __syncthreads();
  for (int stride = 1; stride < THREADS; stride *= 2) {
    sums[!now][t] = sums[now][t] + (t >= stride ? sums[now][t - stride] : 0);
    now = !now;
    __syncthreads();
  }
  *total = sums[now][THREADS - 1];
  int sum = sums[now][t];
  __syncthreads(); // all threads have read the sums that the next call overwrites
  return sum;
}

__global__ void scan_chunks(int *out, int *totals, const int *x, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x, total;
  int sum = block_scan(i < n ? x[i] : 0, &total);
  if (i < n)
    out[i] = sum;
  if (threadIdx.x == 0)
    totals[blockIdx.x] = total;
}

// Replaces each chunk's total with its offset, the sum of all earlier chunks. One block, THREADS chunks at a time.
__global__ void scan_totals(int *totals, int chunks) {
  int carry = 0, total;
  for (int first = 0; first < chunks; first += THREADS) {
    int i = first + threadIdx.x, own = i < chunks ? totals[i] : 0, sum = block_scan(own, &total);
    if (i < chunks)
      totals[i] = carry + sum - own;
    carry += total;
  }
}

__global__ void add_offsets(int *out, const int *offsets, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  if (i < n)
    out[i] += offsets[blockIdx.x];
}
// [stub]
//| __global__ void scan_chunks(int *out, int *totals, const int *x, int n) {
//|   // one chunk per block; store its total in totals[blockIdx.x]
//| }
// [end]

extern "C" void scan_on_device(int *out, const int *x, int *scratch, int n) {
  // [answer]
  int chunks = (n + THREADS - 1) / THREADS;
  if (chunks == 0)
    return;
  scan_chunks<<<chunks, THREADS>>>(out, scratch, x, n);
  scan_totals<<<1, THREADS>>>(scratch, chunks);
  add_offsets<<<chunks, THREADS>>>(out, scratch, n);
  // [stub]
  // [end]
}
