// mistake: data race between blocks
#include <cuda_runtime.h>

__global__ void add(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                    float beta) {
  int row = blockIdx.x / 2, half = blockIdx.x % 2, k = offsets[row] + 2 * threadIdx.x + half;
  if (threadIdx.x == 0 && half == 0)
    y[row] = beta == 0 ? 0 : beta * y[row];
  __syncthreads();
  for (; k < offsets[row + 1]; k += 2 * blockDim.x)
    atomicAdd(&y[row], alpha * values[k] * x[columns[k]]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows == 0)
    return;
  add<<<2 * rows, 64>>>(y, offsets, columns, values, x, alpha, beta);
}
