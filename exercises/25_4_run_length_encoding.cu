// Exercise 25.4: Run-length encoding                  lesson 25 · hard · 60 min
//
// Task      Find the runs of equal elements (run-length encoding), as
//           torch.unique_consecutive(x, return_counts=True) does.
// Example   x = 7 7 7 2 5 5 7
//           ->   values = 7 2 5 7,  lengths = 3 1 2 1,  count = 4
// Write     runs_on_device and the kernels that it launches.
// Inputs    x         device array of n ints
//           n         0 to 100,000
//           values, lengths   device arrays of n ints
//           count     1 int on the device, to be written for n = 0 as well
//           scratch   device array of n + 2048 ints, yours to use
// Required  - correct for every n and in the order of x; nothing written from
//             values[*count] and lengths[*count] on
//           - computed by kernels, without races or out-of-bounds accesses
// Stars     ** at most 5 launches, no copy to the host, no host sync
//           *** no serial kernel: at least 20 % active lanes in each
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

__global__ void count_heads(int *counts, const int *x, int n) {
  // counts[blockIdx.x] = ...
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *scratch, int n) {
}
