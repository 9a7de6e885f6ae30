// missing star: uncoalesced access
#include <cuda_runtime.h>

// A thread per row, and a thread per column.
__global__ void of_rows(float *dx, const float *dy, const float *x, const float *gamma, const float *mean,
                        const float *rstd, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  double g = 0, h = 0;
  for (int i = 0; i < columns; i++) {
    double own = (double)dy[row * columns + i] * gamma[i];
    g += own;
    h += own * (x[row * columns + i] - mean[row]) * rstd[row];
  }
  for (int i = 0; i < columns; i++) {
    double hat = (x[row * columns + i] - mean[row]) * rstd[row];
    dx[row * columns + i] = rstd[row] * (dy[row * columns + i] * gamma[i] - g / columns - hat * h / columns);
  }
}

__global__ void of_columns(float *dgamma, float *dbeta, const float *dy, const float *x, const float *mean,
                           const float *rstd, int rows, int columns) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns)
    return;
  dgamma[c] = dbeta[c] = 0;
  for (int row = 0; row < rows; row++) {
    dgamma[c] += dy[row * columns + c] * (x[row * columns + c] - mean[row]) * rstd[row];
    dbeta[c] += dy[row * columns + c];
  }
}

extern "C" void layer_norm_backward_on_device(float *dx, float *dgamma, float *dbeta, const float *dy, const float *x,
                                              const float *gamma, const float *mean, const float *rstd, int rows,
                                              int columns) {
  of_rows<<<(rows + 31) / 32, 32>>>(dx, dy, x, gamma, mean, rstd, rows, columns);
  of_columns<<<(columns + 31) / 32, 32>>>(dgamma, dbeta, dy, x, mean, rstd, rows, columns);
}
