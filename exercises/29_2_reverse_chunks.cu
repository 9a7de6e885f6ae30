// Exercise 29.2: Find the bug: reverse chunks       lesson 29 · medium · 15 min
//
// Task      reverse_on_device reverses each chunk of 256 floats. A few blocks
//           process many chunks, each in a loop:
//               out[256 c + t] = x[256 c + 255 - t]        t = 0 .. 255
//           In PyTorch, x.view(chunks, 256).flip(1).view(-1). It has been right
//           with one block per chunk; with fewer blocks it sometimes is not.
// Example   with chunks of 4:  x = 1 2 3 4 5 6 7 8  ->  out = 4 3 2 1 8 7 6 5
// Fix       reverse, and keep its loop and its shared memory.
//           ./ferry inspect work/29_2_reverse_chunks.cu helps.
// Inputs    x, out    device arrays of 256 * chunks floats
//           chunks    1 to 1000
// Required  - correct for every size, without data races
//           - at most 4 blocks, and the elements go through shared memory
// Stars     ** coalesced: at most 1.5 x the ideal sectors per request
#include <cuda_runtime.h>

enum { CHUNK = 256, BLOCKS = 4 };

__global__ void reverse(float *out, const float *x, int chunks) {
  __shared__ float chunk[CHUNK];
  int t = threadIdx.x;
  for (int c = blockIdx.x; c < chunks; c += gridDim.x) {
    chunk[t] = x[c * CHUNK + t];
    if (c == (int)blockIdx.x)
      __syncthreads();
    out[c * CHUNK + t] = chunk[CHUNK - 1 - t];
  }
}

extern "C" void reverse_on_device(float *out, const float *x, int chunks) {
  int blocks = chunks > BLOCKS ? BLOCKS : chunks;
  reverse<<<blocks, CHUNK>>>(out, x, chunks);
}
