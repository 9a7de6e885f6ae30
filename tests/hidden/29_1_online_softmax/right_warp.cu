#include <cuda_runtime.h>
#include <math.h>

// A warp for each row: each lane scales its own sum, and once more when all have met.
__global__ void softmax_rows(float *out, const float *x, int rows, int columns) {
  int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows)
    return;
  float most = -INFINITY, sum = 0;
  for (int k = lane; k < columns; k += 32) {
    float value = x[row * columns + k];
    if (value > most) {
      sum *= expf(most - value); // nothing yet: 0 times 0
      most = value;
    }
    sum += expf(value - most);
  }
  float all = most;
  for (int apart = 16; apart > 0; apart /= 2)
    all = fmaxf(all, __shfl_xor_sync(0xffffffffu, all, apart));
  sum *= expf(most - all);
  most = all;
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
