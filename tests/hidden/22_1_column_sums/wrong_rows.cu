// mistake: rows summed instead of columns
#include <cuda_runtime.h>

__global__ void add_up(float *sums, const float *in, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows || r >= columns)
    return;
  float sum = 0;
  for (int c = 0; c < columns; c++)
    sum += in[r * columns + c];
  sums[r] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  add_up<<<(rows + 255) / 256, 256>>>(sums, in, rows, columns);
}
