// missing star: uncoalesced access
#include <cuda_runtime.h>
#include <math.h>

// A thread for each row.
__global__ void softmax_rows(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows)
    return;
  x += (size_t)row * columns;
  out += (size_t)row * columns;
  float max = x[0], sum = 1;
  for (int k = 1; k < columns; k++) {
    float value = x[k];
    if (value <= max) {
      sum += expf(value - max);
    } else {
      sum = sum * expf(max - value) + 1;
      max = value;
    }
  }
  for (int k = 0; k < columns; k++)
    out[k] = expf(x[k] - max) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<(rows + 63) / 64, 64>>>(out, x, rows, columns);
}
