// mistake: invalid launch configuration
// Tiles of one row each: a grid has fewer blocks in y than x may have rows.
#include <cuda_runtime.h>

enum { TILE = 32, ROWS = 8 };

__global__ void transpose_tiles(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    if (row + k < rows && column < columns)
      tile[threadIdx.y + k][threadIdx.x] = x[(size_t)(row + k) * columns + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  for (int k = 0; k < TILE; k += ROWS)
    if (row + k < columns && column < rows)
      out[(size_t)(row + k) * rows + column] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void transpose_thin(float *out, const float *x, int rows, int columns) {
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y;
  if (column < columns)
    out[(size_t)column * rows + row] = x[(size_t)row * columns + column];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  if (columns < TILE)
    transpose_thin<<<dim3(1, rows), TILE>>>(out, x, rows, columns);
  else
    transpose_tiles<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
}
