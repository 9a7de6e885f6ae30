#include <cuda_runtime.h>

static __device__ float warp_sum(float x) {
  for (int apart = 16; apart > 0; apart /= 2)
    x += __shfl_xor_sync(0xffffffffu, x, apart);
  return x;
}

__global__ void rows_of(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int columns) {
  int row = blockIdx.x;
  float sum_g = 0, sum_both = 0;
  for (int c = threadIdx.x; c < columns; c += 32) {
    float g = dy[row * columns + c] * gamma[c];
    sum_g += g;
    sum_both += g * (x[row * columns + c] - mean[row]) * rstd[row];
  }
  sum_g = warp_sum(sum_g) / columns;
  sum_both = warp_sum(sum_both) / columns;
  for (int c = threadIdx.x; c < columns; c += 32)
    dx[row * columns + c] = rstd[row] * (dy[row * columns + c] * gamma[c] - sum_g -
                                         (x[row * columns + c] - mean[row]) * rstd[row] * sum_both);
}

__global__ void columns_of(float *sums, const float *dy, const float *x, const float *mean, const float *rstd, int rows,
                           int columns, bool with_hat) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int row = 0; row < rows && c < columns; row++)
    sum += dy[row * columns + c] * (with_hat ? (x[row * columns + c] - mean[row]) * rstd[row] : 1);
  if (c < columns)
    sums[c] = sum;
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  int blocks = (columns + 63) / 64;
  rows_of<<<rows, 32>>>(dx, dy, x, gamma, mean, rstd, columns);
  columns_of<<<blocks, 64>>>(dgamma, dy, x, mean, rstd, rows, columns, true);
  columns_of<<<blocks, 64>>>(dbeta, dy, x, mean, rstd, rows, columns, false);
}
