#include <cuda_runtime.h>

// A thread for each element finds its row by binary search, and adds to y with an atomic operation.
__global__ void begin(float *y, float beta, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows)
    y[row] = beta == 0 ? 0 : beta * y[row];
}

__global__ void add(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                    int rows, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= count)
    return;
  int low = 0, high = rows; // offsets[low] <= k < offsets[high]
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (offsets[middle] <= k)
      low = middle;
    else
      high = middle;
  }
  atomicAdd(&y[low], alpha * values[k] * x[columns[k]]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows > 0)
    begin<<<(rows + 127) / 128, 128>>>(y, beta, rows);
  if (count > 0)
    add<<<(count + 127) / 128, 128>>>(y, offsets, columns, values, x, alpha, rows, count);
}
