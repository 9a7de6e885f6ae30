// missing star: uncoalesced access
#include <cuda_runtime.h>

// A thread for each row.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = offsets[row]; k < offsets[row + 1]; k++)
    sum += values[k] * x[columns[k]];
  sum *= alpha;
  if (beta != 0)
    sum += beta * y[row];
  y[row] = sum;
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows > 0)
    spmv<<<(rows + 255) / 256, 256>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
