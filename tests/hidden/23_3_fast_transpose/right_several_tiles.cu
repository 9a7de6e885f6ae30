// stars: 2
// A block loops over tiles.
#include <cuda_runtime.h>

enum { TILE = 32, ROWS = 8, BLOCKS = 640 };

__global__ void transpose(float *out, const float *x, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  const int across = (columns + TILE - 1) / TILE, tiles = across * ((rows + TILE - 1) / TILE);
  for (int i = blockIdx.x; i < tiles; i += gridDim.x) {
    const int left = i % across * TILE, top = i / across * TILE;
    for (int k = threadIdx.y; k < TILE; k += ROWS)
      if (top + k < rows && left + (int)threadIdx.x < columns)
        tile[k][threadIdx.x] = x[(size_t)(top + k) * columns + left + threadIdx.x];
    __syncthreads();
    for (int k = threadIdx.y; k < TILE; k += ROWS)
      if (left + k < columns && top + (int)threadIdx.x < rows)
        out[(size_t)(left + k) * rows + top + threadIdx.x] = tile[threadIdx.x][k];
    __syncthreads();
  }
}

extern "C" void transpose_on_device(float *out, const float *x, int rows, int columns) {
  int tiles = (columns + TILE - 1) / TILE * ((rows + TILE - 1) / TILE);
  int blocks = min(tiles, (int)BLOCKS);
  transpose<<<blocks, dim3(TILE, ROWS)>>>(out, x, rows, columns);
}
