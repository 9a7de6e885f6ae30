// mistake: data race
#include <cuda_runtime.h>

enum { WIDE = 32, TALL = 4 };

// The first row of threads adds up what the others may not have written yet.
__global__ void add_up(float *sums, const float *in, int rows, int columns) {
  __shared__ float of_rows[TALL][WIDE];
  int c = blockIdx.x * WIDE + threadIdx.x;
  float sum = 0;
  for (int r = threadIdx.y; c < columns && r < rows; r += TALL)
    sum += in[(size_t)r * columns + c];
  of_rows[threadIdx.y][threadIdx.x] = sum;
  if (threadIdx.y > 0 || c >= columns)
    return;
  for (int k = 1; k < TALL; k++)
    sum += of_rows[k][threadIdx.x];
  sums[c] = sum;
}

extern "C" void column_sums_on_device(float *sums, const float *in, int rows, int columns) {
  add_up<<<(columns + WIDE - 1) / WIDE, dim3(WIDE, TALL)>>>(sums, in, rows, columns);
}
