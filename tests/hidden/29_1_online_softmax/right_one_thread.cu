// Thread 0 computes maximum and sum in a loop; the block writes.
#include <cuda_runtime.h>
#include <math.h>

__global__ void softmax_rows(float *out, const float *x, int columns) {
  extern __shared__ float row[];
  __shared__ float max, sum;
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    row[k] = x[(size_t)blockIdx.x * columns + k];
  __syncthreads();
  if (threadIdx.x == 0) {
    float m = -INFINITY, s = 0;
    for (int k = 0; k < columns; k++)
      m = fmaxf(m, row[k]);
    for (int k = 0; k < columns; k++)
      s += expf(row[k] - m);
    max = m;
    sum = s;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < columns; k += blockDim.x)
    out[(size_t)blockIdx.x * columns + k] = expf(row[k] - max) / sum;
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  if (rows > 0)
    softmax_rows<<<rows, 96, columns * sizeof(float)>>>(out, x, columns);
}
