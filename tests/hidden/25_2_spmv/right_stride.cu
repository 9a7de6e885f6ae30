// missing star: sectors loaded several times
#include <cuda_runtime.h>

// At most 64 blocks, whose warps loop over the rows. y is scaled by a kernel of its own before.
__global__ void scale(float *y, float beta, int rows) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows; i += gridDim.x * blockDim.x)
    y[i] = beta == 0 ? 0 : y[i] * beta;
}

__global__ void add(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                    int rows) {
  int warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x & 31;
  for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps) {
    double sum = 0;
    for (int k = offsets[row] + lane; k < offsets[row + 1]; k += 32)
      sum += (double)values[k] * x[columns[k]];
    for (int d = 16; d > 0; d /= 2)
      sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0)
      y[row] += (float)(alpha * sum);
  }
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows == 0)
    return;
  int blocks = rows < 64 * 4 ? (rows + 3) / 4 : 64;
  scale<<<blocks, 128>>>(y, beta, rows);
  if (count > 0)
    add<<<blocks, 128>>>(y, offsets, columns, values, x, alpha, rows);
}
