// Elements past the end of a row are read as well, as long as they belong to the matrix, and are not written.
#include <cuda_runtime.h>

__global__ void transpose(float *out, const float *in, int rows, int columns) {
  __shared__ float tile[32][33];
  int r = blockIdx.y * 32 + threadIdx.y, c = blockIdx.x * 32 + threadIdx.x;
  for (int k = 0; k < 32; k += 8)
    if ((r + k) * columns + c < rows * columns)
      tile[threadIdx.y + k][threadIdx.x] = in[(r + k) * columns + c];
  __syncthreads();
  r = blockIdx.x * 32 + threadIdx.y;
  c = blockIdx.y * 32 + threadIdx.x;
  for (int k = 0; k < 32; k += 8)
    if (r + k < columns && c < rows)
      out[(r + k) * rows + c] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" void transpose_on_device(float *out, const float *in, int rows, int columns) {
  transpose<<<dim3((columns + 31) / 32, (rows + 31) / 32), dim3(32, 8)>>>(out, in, rows, columns);
}
