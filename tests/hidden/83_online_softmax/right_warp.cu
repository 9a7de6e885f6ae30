#include <cuda_runtime.h>
#include <math.h>

// A warp for each row; the maximum in one pass, the sum in another.
__global__ void softmax_rows(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float most = -INFINITY, sum = 0;
  for (int k = lane; k < columns; k += 32)
    most = fmaxf(most, x[row * columns + k]);
  for (int apart = 16; apart > 0; apart /= 2)
    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, apart));
  for (int k = lane; k < columns; k += 32)
    sum += expf(x[row * columns + k] - most);
  for (int apart = 16; apart > 0; apart /= 2)
    sum += __shfl_xor_sync(0xffffffffu, sum, apart);
  for (int k = lane; k < columns; k += 32)
    out[row * columns + k] = expf(x[row * columns + k] - most) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  int blocks = (rows + 3) / 4;
  if (blocks > 0)
    softmax_rows<<<blocks, 128>>>(out, x, rows, columns);
}
