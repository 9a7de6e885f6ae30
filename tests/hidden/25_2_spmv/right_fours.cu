// missing star: sectors loaded several times
#include <cuda_runtime.h>
#include <stdint.h>

// A warp for each row, whose lanes load 4 aligned elements each; those of other rows do not count.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows, int count) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  int begin = offsets[row], end = offsets[row + 1];
  float sum = 0;
  for (int k = begin / 4 * 4 + 4 * lane; k < end; k += 4 * 32)
    if (k + 4 <= count && (uintptr_t)(values + k) % 16 == 0 && (uintptr_t)(columns + k) % 16 == 0) {
      float4 v = *(const float4 *)(values + k);
      int4 c = *(const int4 *)(columns + k);
      sum += k >= begin ? v.x * x[c.x] : 0;
      sum += k + 1 >= begin && k + 1 < end ? v.y * x[c.y] : 0;
      sum += k + 2 >= begin && k + 2 < end ? v.z * x[c.z] : 0;
      sum += k + 3 >= begin && k + 3 < end ? v.w * x[c.w] : 0;
    } else
      for (int j = max(k, begin); j < min(k + 4, end); j++)
        sum += values[j] * x[columns[j]];
  for (int d = 16; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0)
    y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  if (rows > 0)
    spmv<<<(rows + 3) / 4, 128>>>(y, offsets, columns, values, x, alpha, beta, rows, count);
}
