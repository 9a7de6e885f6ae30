// Tiles of 32 columns; eight threads share the rows of a column and add up in shared memory.
#include <cuda_runtime.h>

enum { WIDE = 32, TALL = 8 };

__global__ void column_sums(float *sums, const float *in, int rows, int columns) {
  __shared__ float part[TALL][WIDE];
  int c = blockIdx.x * WIDE + threadIdx.x;
  float sum = 0;
  for (int r = threadIdx.y; c < columns && r < rows; r += TALL)
    sum += in[(size_t)r * columns + c];
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && c < columns) {
    for (int k = 1; k < TALL; k++)
      sum += part[k][threadIdx.x];
    sums[c] = sum;
  }
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  column_sums<<<(columns + WIDE - 1) / WIDE, dim3(WIDE, TALL)>>>(sums, in, rows, columns);
}
