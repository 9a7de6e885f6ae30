// Exercise 29.1: Find the bug: smooth a signal        lesson 29 · easy · 10 min
//
// Task      smooth_on_device replaces each element by the mean of itself and
//           its two neighbors; at both ends, the element itself stands in for
//           the missing neighbor:
//               out[i] = (x[i-1] + x[i] + x[i+1]) / 3
//           Its results are usually right, but not always.
// Example   x = 3 6 9   ->   out = 4 6 8
// Fix       smooth, so that it is right for every n.
//           ./ferry inspect work/29_1_smooth.cu shows what it does to memory.
// Inputs    x, out    device arrays of n floats, 16-byte aligned
//           n         1 to 4,194,304
// Required  - correct for every n, without out-of-bounds accesses
//           - no copy to the host
// Stars     ** one launch
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
