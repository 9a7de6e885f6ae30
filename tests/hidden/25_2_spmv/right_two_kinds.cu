// missing star: sectors loaded several times
#include <cuda_runtime.h>

enum { SHORT = 16 };

// Rows of up to 16 elements are computed by a thread each, longer ones by a warp each.
__global__ void short_rows(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                           float alpha, float beta, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || offsets[row + 1] - offsets[row] > SHORT)
    return;
  float sum = 0;
  for (int k = offsets[row]; k < offsets[row + 1]; k++)
    sum += values[k] * x[columns[k]];
  y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

__global__ void long_rows(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                          float alpha, float beta, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows || offsets[row + 1] - offsets[row] <= SHORT)
    return;
  float sum = 0;
  for (int k = offsets[row] + lane; k < offsets[row + 1]; k += 32)
    sum += values[k] * x[columns[k]];
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0)
    y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  (void)count;
  if (rows == 0)
    return;
  short_rows<<<(rows + 255) / 256, 256>>>(y, offsets, columns, values, x, alpha, beta, rows);
  long_rows<<<(rows + 7) / 8, 256>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
