// The turn happens on the way into the tile, which is flat; the threads of a block are numbered in one dimension.
#include <cuda_runtime.h>

enum { TILE = 32 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE * (TILE + 1)];
  const int x = threadIdx.x % TILE, y0 = threadIdx.x / TILE;
  const int top = blockIdx.x / ((columns + TILE - 1) / TILE) * TILE;
  const int left = blockIdx.x % ((columns + TILE - 1) / TILE) * TILE;
  for (int y = y0; y < TILE; y += blockDim.x / TILE)
    if (top + y < rows && left + x < columns)
      tile[x * (TILE + 1) + y] = in[(top + y) * columns + left + x];
  __syncthreads();
  for (int y = y0; y < TILE; y += blockDim.x / TILE)
    if (left + y < columns && top + x < rows)
      out[(left + y) * rows + top + x] = tile[y * (TILE + 1) + x];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  int tiles = (rows + TILE - 1) / TILE * ((columns + TILE - 1) / TILE);
  transpose<<<tiles, 128>>>(out, in, rows, columns);
}
