// Exercise 23.1: Transpose through shared memory   lesson 23 · medium · 30 min
//
// Task      Transpose a matrix, as out.copy_(in.T) does in PyTorch. Let each
//           block stage a tile in shared memory, so that its warps read along
//           rows of in and write along rows of out.
// Example   in = 1 2 3    ->   out = 1 4
//                4 5 6               2 5
//                                    3 6
// Write     the kernel transpose; transpose_on_device launches it.
// Inputs    in        device array of rows x columns floats, row-major
//           out       device array of columns x rows floats, row-major
//           rows      1 to 100,000
//           columns   1 to 100,000; in has at most 2^29 elements
// Required  - correct for every size, without data races or out-of-bounds
//             accesses
//           - coalesced loads and stores: at most 1.5 x the ideal sectors per
//             request, if rows and columns are multiples of 32
// Stars     ** shared memory: at most 2 x the ideal wavefronts per request
#include <cuda_runtime.h>

enum { TILE = 32, TILE_ROWS = 8 }; // 32 x 8 threads per block; each copies four elements of the tile

__global__ void transpose(float *out, const float *in, int rows, int columns) {
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<blocks, dim3(TILE, TILE_ROWS)>>>(out, in, rows, columns);
}
