// A block of 32 x 32 threads, one element each; the tile in dynamic shared memory, the grid turned.
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  extern __shared__ float tile[];
  int x = threadIdx.x, y = threadIdx.y;
  int from_row = blockIdx.x * 32, from_column = blockIdx.y * 32;
  if (from_row + y < rows && from_column + x < columns)
    tile[y * 33 + x] = in[(from_row + y) * columns + from_column + x];
  __syncthreads();
  if (from_column + y < columns && from_row + x < rows)
    out[(from_column + y) * rows + from_row + x] = tile[x * 33 + y];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  dim3 blocks((rows + 31) / 32, (columns + 31) / 32);
  transpose<<<blocks, dim3(32, 32), 32 * 33 * sizeof(float)>>>(out, in, rows, columns);
}
