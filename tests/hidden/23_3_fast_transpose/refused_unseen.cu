// compile error: no_sanitize is not allowed in a performance challenge
#include <cuda_runtime.h>

enum { TILE = 32 };

__attribute__((no_sanitize("thread"))) __global__ void naive(float *out, const float *x, int rows, int columns) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  if (row < rows && column < columns)
    out[(size_t)column * rows + row] = x[(size_t)row * columns + column];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  naive<<<grid, dim3(TILE, TILE)>>>(out, x, rows, columns);
}
