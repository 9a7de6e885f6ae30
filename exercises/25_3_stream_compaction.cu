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

__global__ void count_kept(int *counts, const float *x, float bound, int n) {
  // counts[blockIdx.x] = ...
}

extern "C" void keep_on_device(float *out, int *count, const float *x, int *scratch, float bound, int n) {
}
