// Exercise 20.1: SAXPY: one thread for each element   lesson 20 · easy · 15 min
//
// Task      Write your first kernel: one thread for each element of a vector.
//               y[i] = a * x[i] + y[i]        PyTorch: y.add_(x, alpha=a)
// Example   a = 2, x = 1 2 3, y = 10 20 30   ->   y = 12 24 36
// Write     the kernel saxpy, and saxpy_on_device, which launches it.
// Inputs    y, x    device arrays of n floats, 16-byte aligned
//           a       float
//           n       0 to 2^25, rarely a multiple of the block size
// Required  - correct for every n, without out-of-bounds reads or writes
//           - computed on the device, in at most 2 launches
//           - no launch whose only thread loops over all elements
// Stars     ** at least 32 threads per block
//           *** more than one block for more than 1024 elements
#include <cuda_runtime.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  // [answer]
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
  // [stub]
  // [end]
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  // [answer]
  const int threads = 256;
  if (n > 0)
    saxpy<<<(n + threads - 1) / threads, threads>>>(y, x, a, n);
  // [stub]
  // [end]
}
