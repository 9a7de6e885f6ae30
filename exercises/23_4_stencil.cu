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

__global__ void stencil(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
}

extern "C" void stencil_on_device(float *out, const float *in, float w0, float w1, float w2, int rows, int columns) {
}
