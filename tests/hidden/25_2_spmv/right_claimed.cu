// missing star: sectors loaded several times
#include <cuda_runtime.h>

static __device__ int next_row;

// Warps claim one row after the other from a counter, so that a long row delays only its own warp.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows) {
  int lane = threadIdx.x % 32;
  for (;;) {
    int row = 0;
    if (lane == 0)
      row = atomicAdd(&next_row, 1);
    row = __shfl_sync(0xffffffffu, row, 0);
    if (row >= rows)
      return;
    float sum = 0;
    for (int k = offsets[row] + lane; k < offsets[row + 1]; k += 32)
      sum += values[k] * x[columns[k]];
    for (int d = 16; d > 0; d /= 2)
      sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0)
      y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
  }
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  (void)count;
  int zero = 0, blocks = rows < 120 ? (rows + 3) / 4 : 30;
  if (rows == 0)
    return;
  cudaMemcpyToSymbol(next_row, &zero, sizeof zero);
  spmv<<<blocks, 128>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
