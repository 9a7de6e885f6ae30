// A block no wider than the matrix.
#include <cuda_runtime.h>

__global__ void column_sums(float *sums, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns)
    return;
  float sum = 0;
  for (int r = 0; r < rows; r++)
    sum += in[(size_t)r * columns + c];
  sums[c] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  const int threads = columns < 128 ? columns : 128;
  column_sums<<<(columns + threads - 1) / threads, threads>>>(sums, in, rows, columns);
}
