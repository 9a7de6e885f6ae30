// Exercise 20.2: a grid smaller than the work                                   (chapter 20, docs/20_the_first_kernel.md)
//
// Write the kernel affine, and affine_on_device, which launches it:
//
//   x[i] = a * x[i] + b,  who[i] = number of the thread that did it        for i = 0 .. n-1
//
//   PyTorch:  x.mul_(a).add_(b)
//
// Given: x and who in device memory, n elements each (n may be 0, and is at most 2^24, as T below is), and the shape of
// the launch: `blocks` blocks of `threads` threads, both at least 1, and blocks at most 65535; the threads of a block
// need not be a multiple of 32. Use that shape, whatever n is. The grid may have fewer threads than there are elements,
// or more; each thread takes every T-th element, T being the number of threads in the grid: thread 0 takes 0, T, 2 T,
// ..., thread 1 takes 1, T + 1, ... Such a loop is called a grid-stride loop. It is right for any grid, and the threads
// of a warp read neighbours at every step. Threads are numbered through the whole grid: blockIdx.x * blockDim.x +
// threadIdx.x. a and b are rarely whole numbers, and all elements are finite. Nothing lies behind the last elements:
// not even a read there is allowed.
// Counted: launches (one; for n = 0 none is as good), their shape (what was given), which thread did what, and by the
// inspector sectors per request: over all loads of the kernel together at most 1.5 times the fewest, and so over all
// its stores. The grid may have more than 65536 threads.
//
// In the library: FY_GRID_STRIDE in core/op/kernel/cuda_common.cuh is this loop, and most kernels there are written
// with it.
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void affine(float *x, int *who, float a, float b, int n) {
  // [answer]
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  int stride = gridDim.x * blockDim.x;
  for (long long i = thread; i < n; i += stride) { // an int i could pass INT_MAX in its last step
    x[i] = a * x[i] + b;
    who[i] = thread;
  }
  // [stub]
  //| int i = blockIdx.x * blockDim.x + threadIdx.x;
  //| if (i < n) { // enough for one element; what of the rest?
  //|   (void)x;
  //|   (void)who;
  //|   (void)a;
  //|   (void)b;
  //| }
  // [end]
}

extern "C" void affine_on_device(float *x, int *who, float a, float b, int n, int blocks, int threads) {
  affine<<<blocks, threads>>>(x, who, a, b, n);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "affine: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
