// mistake: shuffle with missing lanes
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32 };

__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows) {
  int row = (blockIdx.x * THREADS + threadIdx.x) / WARP, lane = threadIdx.x % WARP;
  if (row >= rows)
    return;
  if (lane >= offsets[row + 1] - offsets[row] && lane > 0)
    return;
  float sum = 0;
  for (int k = offsets[row] + lane; k < offsets[row + 1]; k += WARP)
    sum += values[k] * x[columns[k]];
  for (int distance = WARP / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, distance);
  if (lane == 0)
    y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  int blocks = (rows + THREADS / WARP - 1) / (THREADS / WARP);
  if (blocks > 0)
    spmv<<<blocks, THREADS>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
