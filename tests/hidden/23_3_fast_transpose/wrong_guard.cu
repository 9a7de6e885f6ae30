// mistake: bounds check not swapped
#include <cuda_runtime.h>

enum { TILE = 32 };

// The tile is read along rows of x and written along rows of out; its columns lie in different banks, since a row has a word more.
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
    if (row + k < rows && column < columns)
      out[(size_t)(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
}
