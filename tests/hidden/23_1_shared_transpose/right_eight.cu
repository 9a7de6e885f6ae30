// Tiles of 8 x 8: a row of a tile is one sector.
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[8][9];
  int top = blockIdx.y * 8, left = blockIdx.x * 8;
  if (top + (int)threadIdx.y < rows && left + (int)threadIdx.x < columns)
    tile[threadIdx.y][threadIdx.x] = in[(top + threadIdx.y) * columns + left + threadIdx.x];
  __syncthreads();
  if (left + (int)threadIdx.y < columns && top + (int)threadIdx.x < rows)
    out[(left + threadIdx.y) * rows + top + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  transpose<<<dim3((columns + 7) / 8, (rows + 7) / 8), dim3(8, 8)>>>(out, in, rows, columns);
}
