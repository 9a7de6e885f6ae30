// mistake: tiles at the edge
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int r = blockIdx.y * TILE + threadIdx.y;
  int c = blockIdx.x * TILE + threadIdx.x;
  if (r < rows && c < columns)
    store(&tile[threadIdx.y][threadIdx.x], load(&in[r * columns + c]));
  __syncthreads();
  r = blockIdx.x * TILE + threadIdx.y;
  c = blockIdx.y * TILE + threadIdx.x;
  if (r < columns && c < rows)
    store(&out[r * rows + c], load(&tile[threadIdx.x][threadIdx.y]));
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks(columns / TILE, rows / TILE);
  if (blocks.x > 0 && blocks.y > 0)
    transpose<<<blocks, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
