// mistake: divergent barrier
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[TILE][TILE + 1];
  int r = blockIdx.y * TILE + threadIdx.y;
  int c = blockIdx.x * TILE + threadIdx.x;
  if (r >= rows || c >= columns)
    return;
  tile[threadIdx.y][threadIdx.x] = in[r * columns + c];
  __syncthreads();
  r = blockIdx.x * TILE + threadIdx.y;
  c = blockIdx.y * TILE + threadIdx.x;
  if (r < columns && c < rows)
    out[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks = dim3((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
  transpose<<<blocks, dim3(TILE, TILE)>>>(out, in, rows, columns);
}
