// Exercise 29.2: the second round (find the bug)                          (chapter 29, docs/29_debugging_kernels.md)
//
// reverse_on_device is to turn each piece of 256 numbers round, with a few blocks that go through many pieces:
//
//   out[256 p + t] = x[256 p + 255 - t]          p = 0 .. pieces-1, t = 0 .. 255
//
//   PyTorch:  out = x.view(pieces, 256).flip(1).view(-1)
//
// With as many blocks as pieces it has always been right. Find what is wrong, and mend it: `./ferry inspect
// work/29_2_reverse_chunks.cu` helps. At most 4 blocks are to be launched, as now, and numbers still go through shared
// memory.
//
// Given, in device memory, float32: x (256 * pieces, pieces 1 to 1000) and out, to be written. Counted: launches (one),
// and by the inspector races, barriers that threads miss, and sectors per request (at most 1.1 times the fewest).
#include <cuda_runtime.h>

enum { PIECE = 256, BLOCKS = 4 };

__global__ void reverse(float *out, const float *x, int pieces) {
  __shared__ float piece[PIECE];
  int t = threadIdx.x;
  for (int p = blockIdx.x; p < pieces; p += gridDim.x) {
    piece[t] = x[p * PIECE + t];
    if (p == (int)blockIdx.x)
      __syncthreads();
    out[p * PIECE + t] = piece[PIECE - 1 - t];
  }
}

extern "C" void reverse_on_device(float *out, const float *x, int pieces) {
  int blocks = pieces > BLOCKS ? BLOCKS : pieces;
  reverse<<<blocks, PIECE>>>(out, x, pieces);
}
