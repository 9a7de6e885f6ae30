#include <cuda_runtime.h>
#include <math.h>

// The largest first, in all lanes; then the lowest column that has it. Warps stride over the rows.
__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int lane = threadIdx.x % 32, warps = gridDim.x * blockDim.x / 32;
  for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < rows; row += warps) {
    const float *numbers = x + (size_t)row * columns;
    float most = -INFINITY;
    int where = columns;
    for (int k = lane; k < columns; k += 32)
      most = fmaxf(most, numbers[k]);
    for (int apart = 1; apart < 32; apart *= 2)
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, apart));
    for (int k = lane; k < columns && where == columns; k += 32)
      if (numbers[k] == most)
        where = k;
    for (int apart = 1; apart < 32; apart *= 2) {
      int other = __shfl_xor_sync(0xffffffffu, where, apart);
      where = other < where ? other : where;
    }
    if (lane == 0) {
      best[row] = most;
      at[row] = where;
    }
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows > 0)
    row_maximum<<<16, 64>>>(best, at, x, rows, columns);
}
