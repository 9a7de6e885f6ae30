// Exercise 32.1: Find the bug: smooth a signal       lesson 32 · easy · 10 min
//
// Task      smooth_on_device computes the mean of each element and its two
//           neighbors. At each end, the element itself replaces the missing
//           neighbor:
//               padded = F.pad(x[None, None], (1, 1), mode="replicate")
//               out = F.avg_pool1d(padded, 3, stride=1)[0, 0]
// Example   x = 3 6 9   ->   out = 4 6 8
// Fix       Most results are correct, but some are wrong or differ from run to
//           run. For some sizes, the program ends with an error.
// Inputs    out       device array of n floats, to be written
//           x         device array of n floats, all finite
//           n         1 to 2^22
// Required  - correct for every n, without data races or out-of-bounds accesses
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void smooth(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  // [answer]
  if (i >= n)
    return;
  float before = x[i > 0 ? i - 1 : i], after = x[i < n - 1 ? i + 1 : i];
  out[i] = (before + x[i] + after) / 3;
  // [stub]
  //| out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
  // [end]
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
