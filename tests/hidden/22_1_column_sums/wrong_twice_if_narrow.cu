// mistake: elements read more than once
#include <cuda_runtime.h>

enum { WIDE = 32, TALL = 8 };

__global__ void column_sums(float *sums, const float *in, int rows, int columns) {
  __shared__ float part[TALL][WIDE];
  int c = blockIdx.x * WIDE + threadIdx.x;
  float sum = 0;
  if (c < columns) {
    float middle = 0; // of narrow, tall matrices: sums of deviations are more exact
    int count = 0;
    if (columns < 8) {
      for (int r = threadIdx.y; r < rows; r += TALL, count++)
        middle += in[(size_t)r * columns + c];
      if (count > 0)
        middle /= count;
    }
    for (int r = threadIdx.y; r < rows; r += TALL)
      sum += in[(size_t)r * columns + c] - middle;
    sum += middle * count;
  }
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
