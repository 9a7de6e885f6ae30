#include <cuda_runtime.h>
#include <math.h>

// A block for each row, in shared memory.
__global__ void row_maximum(float *best, int *at, const float *x, int columns) {
  __shared__ float mosts[64];
  __shared__ int wheres[64];
  int t = threadIdx.x;
  const float *row = x + (size_t)blockIdx.x * columns;
  mosts[t] = -INFINITY;
  wheres[t] = columns;
  for (int k = t; k < columns; k += 64)
    if (row[k] > mosts[t]) {
      mosts[t] = row[k];
      wheres[t] = k;
    }
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half && (mosts[t + half] > mosts[t] || (mosts[t + half] == mosts[t] && wheres[t + half] < wheres[t]))) {
      mosts[t] = mosts[t + half];
      wheres[t] = wheres[t + half];
    }
    __syncthreads();
  }
  if (t == 0) {
    best[blockIdx.x] = mosts[0];
    at[blockIdx.x] = wheres[0];
  }
}

extern "C" void row_maximum_on_device(float *best, int *at, const float *x, int rows, int columns) {
  if (rows > 0)
    row_maximum<<<rows, 64>>>(best, at, x, columns);
}
