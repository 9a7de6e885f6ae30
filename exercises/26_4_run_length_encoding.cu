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

__global__ void count_heads(int *counts, const int *x, int n) {
  // one count per block
}

extern "C" void runs_on_device(int *values, int *lengths, int *count, const int *x, int *scratch, int n) {
}
