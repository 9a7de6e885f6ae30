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

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  // one count per block
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n) {
}
