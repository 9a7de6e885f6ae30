// mistake: invalid launch configuration
#include <cuda_runtime.h>

enum { TILE = 32, HIGH = 8 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
  for (int y = 0; y < TILE; y += HIGH)
    if (row + y < rows && column < columns)
      tile[threadIdx.y + y][threadIdx.x] = x[(size_t)(row + y) * columns + column];
  __syncthreads();
  int to_column = blockIdx.y * TILE + threadIdx.x, to_row = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
  for (int y = 0; y < TILE; y += HIGH)
    if (to_row + y < columns && to_column < rows)
      out[(size_t)(to_row + y) * rows + to_column] = tile[threadIdx.x][threadIdx.y + y];
}

// For few columns: no tile, neighbors in x read neighbors.
__global__ void narrow(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.y * 2 + threadIdx.y, column = threadIdx.x;
  if (row < rows && column < columns)
    out[(size_t)column * rows + row] = x[(size_t)row * columns + column];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  if (columns < TILE)
    narrow<<<dim3(1, (rows + 1) / 2), dim3(TILE, 2)>>>(out, x, rows, columns);
  else
    transpose<<<grid, dim3(TILE, HIGH)>>>(out, x, rows, columns);
}
