// mistake: more than two passes over the input
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_rows(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  float most = -INFINITY, sum = 0;
  for (int k = 0; k < columns; k++)
    most = fmaxf(most, x[row * columns + k]);
  for (int k = 0; k < columns; k++)
    sum += expf(x[row * columns + k] - most);
  for (int k = 0; k < columns; k++)
    out[row * columns + k] = expf(x[row * columns + k] - most) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<(rows + 31) / 32, 32>>>(out, x, rows, columns);
}
