// stars: 2
#include <cuda_runtime.h>

enum { TILE = 8 }; // a sector is eight floats: each is written whole

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
  if (row < rows && column < columns)
    tile[threadIdx.y][threadIdx.x] = x[(size_t)row * columns + column];
  __syncthreads();
  column = blockIdx.y * TILE + threadIdx.x;
  row = blockIdx.x * TILE + threadIdx.y;
  if (row < columns && column < rows)
    out[(size_t)row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, TILE)>>>(out, x, rows, columns);
}
