// Exercise 23.4: Stencil with a halo                 lesson 23 · hard · 45 min
//
// Task      Compute each element of a matrix from itself and the neighbors at
//           distances 1 and 2 above, below, left and right:
//             out[r][c] = w0 * in[r][c]
//               + w1 * (in[r-1][c] + in[r+1][c] + in[r][c-1] + in[r][c+1])
//               + w2 * (in[r-2][c] + in[r+2][c] + in[r][c-2] + in[r][c+2])
//           Instead of an index outside of the matrix, use the nearest one
//           inside.
// Example   in = 1 2 3 (one row), w0 = w2 = 0, w1 = 1   ->   out = 5 8 11
// Write     stencil_on_device and the kernels that it launches.
// Inputs    out      device array of rows x columns floats, uninitialized
//           in       device array of rows x columns floats, row-major, finite
//           w0..w2   any finite floats
//           rows     0 to 2^20, columns too; in has fewer than 2^31 bytes
// Required  - correct for every size, without data races or out-of-bounds
//             accesses
// Stars     ** each element is loaded about once per tile: all loads together
//              access at most 4 x the sectors of in
#include <cuda_runtime.h>

enum { TILE = 32, ROWS = 8, RADIUS = 2, WIDTH = TILE + 2 * RADIUS };

// [answer]
__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  __shared__ float tile[WIDTH][WIDTH];
  int first_row = blockIdx.y * TILE, first_column = blockIdx.x * TILE;
  for (int y = threadIdx.y; y < WIDTH; y += ROWS)
    for (int x = threadIdx.x; x < WIDTH; x += TILE) {
      int row = min(max(first_row + y - RADIUS, 0), rows - 1);
      int column = min(max(first_column + x - RADIUS, 0), columns - 1);
      tile[y][x] = in[row * columns + column];
    }
  __syncthreads();
  for (int k = threadIdx.y; k < TILE; k += ROWS) {
    int row = first_row + k, column = first_column + threadIdx.x, y = k + RADIUS, x = threadIdx.x + RADIUS;
    float near = tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
    float far = tile[y - 2][x] + tile[y + 2][x] + tile[y][x - 2] + tile[y][x + 2];
    if (row < rows && column < columns)
      out[row * columns + column] = w0 * tile[y][x] + w1 * near + w2 * far;
  }
}
// [stub]
//| __global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
//| }
// [end]

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
  // [answer]
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE), block(TILE, ROWS);
  if (rows > 0 && columns > 0)
    stencil<<<grid, block>>>(out, in, w0, w1, w2, rows, columns);
  // [stub]
  // [end]
}
