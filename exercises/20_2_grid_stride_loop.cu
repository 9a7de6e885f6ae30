// Exercise 20.2: Grid-stride loop                     lesson 20 · easy · 15 min
//
// Task      Compute x = a * x + b in one launch whose size the caller chooses.
//           It may have fewer threads than elements, or more. Use a grid-stride
//           loop: in a grid of T = blocks * threads threads, thread t computes
//           the elements t, t + T, t + 2 T, ...
//               x[i] = a * x[i] + b,  who[i] = t    PyTorch: x.mul_(a).add_(b)
// Example   blocks = 1, threads = 2, n = 5   ->   who = 0 1 0 1 0
// Write     the loop in the kernel affine; affine_on_device is given.
// Inputs    x, who    device arrays of n floats and n ints
//           a, b      floats
//           n         0 to 2^24
//           blocks    1 to 65535
//           threads   1 to 1024; blocks * threads is at most 2^24
// Required  - x and who are correct, without out-of-bounds reads or writes
//           - one launch with the given blocks and threads
#include <cuda_runtime.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { // enough for one element per thread
  }
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
}
