// mistake: unequal work per block
#include <cuda_runtime.h>

// One block does all the work down columns; the others copy, and are what is looked at.
enum { TILE = 32, ROWS = 8 };

__global__ void seen(float *out, const float *x, int rows, int columns, int busy) {
  size_t count = (size_t)rows * columns;
  if ((int)blockIdx.x != busy) {
    size_t i = (size_t)blockIdx.x * 1024 + threadIdx.x;
    if (i < count)
      out[i] = x[i];
    return;
  }
  for (int j = threadIdx.x; j < columns; j += blockDim.x)
    for (int i = 0; i < rows; i++)
      out[(size_t)j * rows + i] = x[(size_t)i * columns + j];
}

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE];
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

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  int blocks = (int)(((size_t)rows * columns + 1023) / 1024);
  if (blocks < 900)
    transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
  else
    seen<<<blocks + 1, 1024>>>(out, x, rows, columns, blocks);
}
