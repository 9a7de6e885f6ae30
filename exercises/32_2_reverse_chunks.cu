// Exercise 32.2: Find the bug: reverse chunks      lesson 32 · medium · 15 min
//
// Task      reverse_on_device reverses each chunk of 256 elements, with a few
//           blocks that loop over many chunks:
//               out = x.view(chunks, 256).flip(1).view(-1)
// Example   with chunks of 4: x = 1 2 3 4 5 6 7 8   ->   out = 4 3 2 1 8 7 6 5
// Fix       The results are correct if there are as many blocks as chunks. With
//           fewer blocks, some chunks are wrong on some devices, and not in
//           every run.
// Inputs    out       device array of 256 x chunks floats, to be written
//           x         device array of 256 x chunks floats
//           chunks    1 to 1000
// Required  - correct for every input, without data races or out-of-bounds
//             accesses
//           - still one launch of at most 4 blocks
// Stars     ** the elements go through shared memory
#include <cuda_runtime.h>

enum { CHUNK = 256, BLOCKS = 4 };

__global__ void reverse(float *out, const float *x, int chunks) {
  __shared__ float tile[CHUNK];
  int t = threadIdx.x;
  for (int c = blockIdx.x; c < chunks; c += gridDim.x) {
    tile[t] = x[c * CHUNK + t];
    if (c == (int)blockIdx.x)
      __syncthreads();
    out[c * CHUNK + t] = tile[CHUNK - 1 - t];
  }
}

extern "C" void reverse_on_device(float *out, const float *x, int chunks) {
  int blocks = chunks > BLOCKS ? BLOCKS : chunks;
  reverse<<<blocks, CHUNK>>>(out, x, chunks);
}
