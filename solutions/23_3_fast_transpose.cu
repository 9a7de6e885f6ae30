// Exercise 23.3: Performance challenge: transpose     lesson 23 · hard · 60 min
//
// Task      transpose_on_device transposes a matrix, as x.t().contiguous()
//           does, and is right, but slow. Make it faster:
//               out[j][i] = x[i][j]
//           The score is its modelled time on a V100 for 1024 x 1024 floats,
//           computed from the inspector's counts. ./ferry run shows it and what
//           limits it; ./ferry best keeps your best results.
// Example   x = {{1, 2, 3}, {4, 5, 6}}   ->   out = {{1, 4}, {2, 5}, {3, 6}}
// Write     transpose and transpose_on_device.
// Inputs    x              device array of rows x columns floats, aligned to 16
//           rows, columns  1 to 200,000
//           out            device array of columns x rows floats, aligned to 16
// Required  - correct for every size, without races or out-of-bounds accesses
//           - 1.5 x as fast as the original, also at sizes within 63 of 1024
//           - no inline assembly, no local arrays beyond the registers
// Stars     *    1.5 x as fast as the original
//           **   2.2 x
//           ***  2.9 x, about the speed of a copy
#include <cuda_runtime.h>

enum { TILE = 32 };

// [answer]
// The tile is loaded along rows of x and stored along rows of out. One word of padding puts its columns into different banks.
enum { ROWS = 8 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    if (row + k < rows && column < columns)
      tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * columns + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x; // of out
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    if (row + k < columns && column < rows)
      out[(size_t)(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
}
// [stub]
//| __global__ void transpose(float *out, const float *x, int rows, int columns) {
//|   int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
//|   if (row < rows && column < columns)
//|     out[(size_t)column * rows + row] = x[(size_t)row * columns + column];
//| }
// [end]

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  // [answer]
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
  // [stub]
  //| transpose<<<grid, dim3(TILE, TILE)>>>(out, x, rows, columns);
  // [end]
}
