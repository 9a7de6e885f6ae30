// mistake: no speedup
#include <cuda_runtime.h>

enum { TILE = 32 };

// Each element by a launch's own thread, and the tile read back once more by a second launch.
enum { ROWS = 8 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
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

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
  transpose<<<grid, dim3(TILE, ROWS)>>>(out, x, rows, columns);
}
