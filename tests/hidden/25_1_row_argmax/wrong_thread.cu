// mistake: uncoalesced access
#include <cuda_runtime.h>

__global__ void row_maximum(float *best, int *at, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  int where = 0;
  for (int k = 1; k < columns; k++)
    if (x[row * columns + k] > x[row * columns + where])
      where = k;
  best[row] = x[row * columns + where];
  at[row] = where;
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows > 0)
    row_maximum<<<(rows + 127) / 128, 128>>>(best, at, x, rows, columns);
}
