// mistake: output elements not written
// No more blocks than 256, and no loop that goes on behind them.
#include <cuda_runtime.h>

__global__ void column_sums(float *sums, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns)
    return;
  float sum = 0;
  for (int r = 0; r < rows; r++)
    sum += in[r * columns + c];
  sums[c] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  int blocks = (columns + 127) / 128;
  column_sums<<<min(blocks, 256), 128>>>(sums, in, rows, columns);
}
