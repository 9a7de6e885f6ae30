// mistake: out-of-bounds write
#include <cuda_runtime.h>

__global__ void add_up(float *sums, const float *in, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int r = 0; r < rows; r++)
    sum += in[r * columns + c];
  sums[c] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  add_up<<<(columns + 255) / 256, 256>>>(sums, in, rows, columns);
}
