// missing star: uncoalesced access
#include <cuda_runtime.h>

// All products first, into memory of its own; then a thread for each row adds them.
__global__ void multiply(float *products, const int *columns, const float *values, const float *x, int count) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < count)
    products[k] = values[k] * x[columns[k]];
}

__global__ void add(float *y, const int *offsets, const float *products, float alpha, float beta, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float sum = 0;
  for (int k = offsets[row]; k < offsets[row + 1]; k++)
    sum += products[k];
  y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows == 0)
    return;
  float *products = NULL;
  if (count > 0) {
    cudaMalloc((void **)&products, count * sizeof(float));
    multiply<<<(count + 255) / 256, 256>>>(products, columns, values, x, count);
  }
  add<<<(rows + 255) / 256, 256>>>(y, offsets, products, alpha, beta, rows);
  cudaFree(products);
}
