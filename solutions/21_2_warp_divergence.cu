// Exercise 21.2: Warp divergence                    lesson 21 · medium · 30 min
//
// Task      Apply one function to the even elements of x and a different one to
//           the odd elements, without warp divergence. With `if (i % 2 == 0)`,
//           each warp would execute both functions, each with half of its
//           lanes inactive.
//               out[i] = even_work(x[i])     i = 0, 2, 4, ...
//               out[i] = odd_work(x[i])      i = 1, 3, 5, ...
//               PyTorch: out[0::2] = even(x[0::2]); out[1::2] = odd(x[1::2])
// Example   n = 3   ->   out = even_work(x[0]) odd_work(x[1]) even_work(x[2])
// Write     two_kinds_on_device and its kernels. Call the functions of
//           counted.cuh.
// Inputs    out, x    device arrays of n floats, 16-byte aligned
//           n         1 to 2^17
// Required  - correct for every n, without out-of-bounds reads or writes
//           - for n above 4000, at least 75 % active lanes in each kernel
// Stars     ** only one of the two functions is called for each element
//           *** coalesced: at most 3 x the ideal sectors per request
#include "counted.cuh" // even_work, odd_work
#include <cuda_runtime.h>

// [answer]
// Each pair of warps shares 64 elements: one warp computes the even elements, the other the odd ones.
__global__ void two_kinds(float *out, const float *x, int n) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32, lane = thread % 32;
  int odd = warp % 2, i = warp / 2 * 64 + 2 * lane + odd;
  if (i >= n)
    return;
  if (odd)
    out[i] = odd_work(x[i]);
  else
    out[i] = even_work(x[i]);
}

// [stub]
// [end]
extern "C" void two_kinds_on_device(float *out, const float *x, int n) {
  // [answer]
  int threads = (n + 63) / 64 * 64; // rounded up to whole pairs of warps
  two_kinds<<<(threads + 255) / 256, 256>>>(out, x, n);
  // [stub]
  // [end]
}
