// Exercise 25.2: Sparse matrix-vector product      lesson 25 · medium · 45 min
//
// Task      Multiply a sparse matrix in CSR format by a vector, and add the
//           product to y. Let several lanes share a row.
//               y = alpha * (A @ x) + beta * y
// Example   A = 5 0 2   x = 1   offsets = 0 2 2 3     A @ x = 13
//               0 0 0       3   columns = 0 2 1                0
//               0 6 0       4   values  = 5 2 6               18
// Write     spmv_on_device and the kernels that it launches.
// Inputs    y         device array of rows floats; uninitialized if beta is 0
//           offsets   device array of rows + 1 ints; a row may be empty
//           columns   device array of count ints, in any order within a row
//           values    device array of count floats
//           x         device array of floats, one per column of A
//           alpha     a finite float; beta, x and values are finite, too
//           rows      0 to 100,000
//           count     0 to 1,000,000; the last of the offsets
// Required  - correct for every input, without races or out-of-bounds accesses;
//             each shuffle is reached by all lanes in its mask
// Stars     ** coalesced in long rows: at most 1.6 x the ideal sectors per load
//           *** in rows of 4 elements, all loads together access at most 3.5 x
//               the sectors of the matrix
#include <cuda_runtime.h>

enum { THREADS = 128, WARP = 32 };

// [answer]
// A group of `width` lanes computes one row. width is a power of two, up to 32.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows, int width) {
  int i = blockIdx.x * THREADS + threadIdx.x, row = i / width, lane = i % width;
  float sum = 0;
  if (row < rows)
    for (int k = offsets[row] + lane; k < offsets[row + 1]; k += width)
      sum += values[k] * x[columns[k]];
  for (int distance = width / 2; distance > 0; distance /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, distance, width);
  if (row < rows && lane == 0)
    y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]); // 0 * y[row] is NaN if y[row] is
}
// [stub]
//| __global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
//|                      float beta, int rows) {
//| }
// [end]

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  // [answer]
  int width = 1;
  while (width < WARP && width * rows < count) // the average row has count / rows elements
    width *= 2;
  int blocks = (rows * width + THREADS - 1) / THREADS;
  if (blocks > 0)
    spmv<<<blocks, THREADS>>>(y, offsets, columns, values, x, alpha, beta, rows, width);
  // [stub]
  // [end]
}
