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

__global__ void scan_chunks(int *out, int *totals, const int *x, int n) {
  // one chunk per block; store its total in totals[blockIdx.x]
}

extern "C" void scan_on_device(int *out, const int *x, int *scratch, int n) {
}
