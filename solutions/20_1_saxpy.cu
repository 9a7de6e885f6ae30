// Exercise 20.1: an index for every thread                                      (chapter 20, docs/20_the_first_kernel.md)
//
// Write the kernel saxpy, and saxpy_on_device, which launches it:
//
//   y[i] = a * x[i] + y[i]        for i = 0 .. n-1
//
//   PyTorch:  y.add_(x, alpha=a)
//
// A kernel is a function that all threads of a grid run, each for itself. It returns nothing and is marked __global__.
// This one writes each thread's number:
//
//   __global__ void number(int *out) {
//     int i = blockIdx.x * blockDim.x + threadIdx.x; // the threads of all blocks before, and the place in this one
//     out[i] = i;
//   }
//
//   number<<<4, 256>>>(out);                         // 4 blocks of 256 threads: 0 to 1023
//
// Given: x and y in device memory, at addresses that are multiples of 16, n elements each; n may be 0, and is hardly
// ever a multiple of the block's size. Elements may be infinite, and a may be 0: an infinity times 0 is NaN, and y gets
// that.
// Counted: launches. One does it; for n = 0 there must be none at all (a grid of no blocks is an error). Looked at
// besides: the shape of the launch. More than 1024 elements take several blocks, all along x; a block has at least a
// warp's 32 threads, and at most 1024. Blocks of 256 serve well, and n may be some millions, at most 2^25. Threads
// beyond n have nothing to do, and must not touch the memory: neither write there nor read.
//
// In the library: fy_unary_flat in core/op/elementwise/pointwise.cuh is such a kernel, for every op of one operand.
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void saxpy(float *y, const float *x, float a, int n) {
  // [answer]
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
  // [stub]
  //| (void)y;
  //| (void)x;
  //| (void)a;
  //| (void)n;
  // [end]
}

extern "C" void saxpy_on_device(float *y, const float *x, float a, int n) {
  // [answer]
  const int threads = 256;
  if (n > 0)
    saxpy<<<(n + threads - 1) / threads, threads>>>(y, x, a, n);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "saxpy: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
  // [stub]
  //| (void)y;
  //| (void)x;
  //| (void)a;
  //| (void)n; // how many blocks of how many threads?
  // [end]
}
