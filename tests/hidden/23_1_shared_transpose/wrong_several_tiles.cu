// mistake: missing barrier
#include <cuda_runtime.h>
#include <stdio.h>

enum { TILE = 32, TILE_ROWS = 8, SOME = 4 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int across = (columns + TILE - 1) / TILE, tiles = across * ((rows + TILE - 1) / TILE);
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int top = t / across * TILE, left = t % across * TILE;
    for (int y = threadIdx.y; y < TILE; y += TILE_ROWS)
      if (top + y < rows && left + (int)threadIdx.x < columns)
        tile[y][threadIdx.x] = in[(size_t)(top + y) * columns + left + threadIdx.x];
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += TILE_ROWS)
      if (left + y < columns && top + (int)threadIdx.x < rows)
        out[(size_t)(left + y) * rows + top + threadIdx.x] = tile[threadIdx.x][y];
  }
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  int tiles = (columns + TILE - 1) / TILE * ((rows + TILE - 1) / TILE);
  int blocks = tiles < SOME ? tiles : SOME;
  transpose<<<blocks, dim3(TILE, TILE_ROWS)>>>(out, in, rows, columns);
  if (cudaPeekAtLastError() != cudaSuccess)
    fprintf(stderr, "transpose: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
