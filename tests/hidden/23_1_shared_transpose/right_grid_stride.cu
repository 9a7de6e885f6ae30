// Eight blocks, each with many tiles: the second barrier keeps a tile until all threads have read it.
#include <cuda_runtime.h>

enum { TILE = 32 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int across = (columns + TILE - 1) / TILE, tiles = across * ((rows + TILE - 1) / TILE);
  int x = threadIdx.x, y = threadIdx.y;
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int top = t / across * TILE, left = t % across * TILE;
    if (top + y < rows && left + x < columns)
      tile[y][x] = in[(top + y) * columns + left + x];
    __syncthreads();
    if (left + y < columns && top + x < rows)
      out[(left + y) * rows + top + x] = tile[x][y];
    __syncthreads();
  }
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  transpose<<<8, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
