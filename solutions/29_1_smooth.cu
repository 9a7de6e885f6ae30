// Exercise 29.1: beyond the end (find the bug)                            (chapter 29, docs/29_debugging_kernels.md)
//
// smooth_on_device is to give each element the mean of itself and its neighbours:
//
//   out[i] = (x[i-1] + x[i] + x[i+1]) / 3          i = 0 .. n-1; at the ends the element itself stands for the missing neighbour
//
//   PyTorch:  out = F.avg_pool1d(F.pad(x[None, None], (1, 1), mode="replicate"), 3, stride=1)[0, 0]
//
// It has been right so far, mostly. Find what is wrong, and mend it. `./ferry inspect work/29_1_smooth.cu` helps.
//
// Given, in device memory, float32: x (n, from 1 to 2^22; all finite, and so is every sum of neighbours) and out, to be
// written; both begin at multiples of 16 bytes. Counted: launches (one), and by the inspector accesses out of bounds
// (none).
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
  //| (void)n;
  //| out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
  // [end]
}

extern "C" void smooth_on_device(float *out, const float *x, int n) {
  smooth<<<(n + THREADS - 1) / THREADS, THREADS>>>(out, x, n);
}
