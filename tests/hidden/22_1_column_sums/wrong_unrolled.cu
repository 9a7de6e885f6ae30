// mistake: remainder of an unrolled loop left out
#include <cuda_runtime.h>

__global__ void add_up(float *sums, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  if (c >= columns)
    return;
  for (int r = 0; r + 3 < rows; r += 4)
    for (int k = 0; k < 4; k++)
      sum += in[(size_t)(r + k) * columns + c];
  sums[c] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  add_up<<<(columns + 255) / 256, 256>>>(sums, in, rows, columns);
}
