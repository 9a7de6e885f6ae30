// mistake: lost update
#include <cuda_runtime.h>

__global__ void begin(float *y, float beta, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows)
    y[row] = beta == 0 ? 0 : beta * y[row];
}

__global__ void add(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                    int rows) {
  int row = blockIdx.x, k = offsets[row] + threadIdx.x;
  for (; k < offsets[row + 1]; k += blockDim.x)
    y[row] += alpha * values[k] * x[columns[k]];
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows == 0)
    return;
  begin<<<(rows + 127) / 128, 128>>>(y, beta, rows);
  add<<<rows, 64>>>(y, offsets, columns, values, x, alpha, rows);
}
