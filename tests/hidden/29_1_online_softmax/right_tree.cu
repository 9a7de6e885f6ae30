#include <cfloat>
#include <cuda_runtime.h>
#include <math.h>

enum { THREADS = 64 };

// Pairs in shared memory, joined by a tree.
__global__ void softmax_rows(float *out, const float *x, int rows, int columns) {
  __shared__ float most[THREADS], sum[THREADS];
  int t = threadIdx.x;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    const float *in = x + row * columns;
    most[t] = -FLT_MAX;
    sum[t] = 0;
    for (int k = t; k < columns; k += THREADS) {
      float larger = fmaxf(most[t], in[k]);
      sum[t] = sum[t] * expf(most[t] - larger) + expf(in[k] - larger);
      most[t] = larger;
    }
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
      if (t < half) {
        float larger = fmaxf(most[t], most[t + half]);
        sum[t] = sum[t] * expf(most[t] - larger) + sum[t + half] * expf(most[t + half] - larger);
        most[t] = larger;
      }
      __syncthreads();
    }
    float of_row = most[0], whole = sum[0];
    for (int k = t; k < columns; k += THREADS)
      out[row * columns + k] = expf(in[k] - of_row) / whole;
    __syncthreads(); // all have read, before the next row
  }
}

extern "C" void softmax_on_device(float *out, const float *x, int rows, int columns) {
  int blocks = rows > 20 ? 20 : rows;
  if (blocks > 0)
    softmax_rows<<<blocks, THREADS>>>(out, x, rows, columns);
}
