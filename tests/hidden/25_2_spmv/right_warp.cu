// missing star: sectors loaded several times
#include <cuda_runtime.h>

enum { THREADS = 256, WARP = 32 };

// A warp for each row; whole warps return.
__global__ void warp_rows(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                          float alpha, float beta, int rows) {
  const int row = blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP, lane = threadIdx.x % WARP;
  if (row >= rows)
    return;
  const int begin = offsets[row], end = offsets[row + 1];
  float sum = 0;
  for (int k = begin + lane; k < end; k += WARP)
    sum = fmaf(values[k], x[columns[k]], sum);
  for (int lanes = 16; lanes; lanes >>= 1)
    sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (lane == 0) {
    float result = alpha * sum;
    if (beta != 0.0f)
      result += beta * y[row];
    y[row] = result;
  }
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  int blocks = (rows + THREADS / WARP - 1) / (THREADS / WARP);
  if (blocks)
    warp_rows<<<blocks, THREADS>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
