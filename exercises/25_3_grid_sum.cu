// Exercise 25.3: Grid-wide sum: subtract the mean  lesson 25 · medium · 45 min
//
// Task      Subtract the mean from each element, in a single launch. The mean
//           needs the sums of all blocks, so the blocks wait for each other.
//               out[i] = x[i] - (x[0] + x[1] + ... + x[n - 1]) / n
// Example   x = 3 1 7 0 4   ->   mean = 3, out = 0 -2 4 -3 1
// Write     subtract_mean_on_device and the kernel that it launches.
// Inputs    x, out    device arrays of n floats; do not change x
//           scratch   device array of 1024 floats, yours to use
//           n         0 to 1,000,000; all sums of elements of x are exact
// Required  - correct for every n, without data races or out-of-bounds accesses
//           - at most 1 kernel launch, no copy to the host
// Stars     ** coalesced: at most 1.2 x the ideal sectors
//           *** with 20,000 elements, all loads together access at most 2.2 x
//               the sectors of x
#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;
enum { THREADS = 256, MOST_BLOCKS = 1024 };

__global__ void subtract_mean(float *out, const float *x, float *scratch, int n) {
  // 1. the sum of each block   2. grid.sync()   3. the mean, and out
}

extern "C" void subtract_mean_on_device(float *out, const float *x, float *scratch, int n) {
}
