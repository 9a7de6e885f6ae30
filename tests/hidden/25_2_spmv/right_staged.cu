#include <cuda_runtime.h>

enum { THREADS = 128, ROWS = 16, CHUNK = 256 };

// A block computes 16 rows. It loads their elements in chunks, all threads side by side, stores the products in shared memory, and
// eight threads add those of each row.
__global__ void spmv(float *y, const int *offsets, const int *columns, const float *values, const float *x, float alpha,
                     float beta, int rows) {
  __shared__ float products[CHUNK];
  int first_row = blockIdx.x * ROWS, last_row = min(first_row + ROWS, rows), t = threadIdx.x;
  int row = first_row + t / 8, lane = t % 8;
  int begin = row < rows ? offsets[row] : 0, end = row < rows ? offsets[row + 1] : 0;
  float sum = 0;
  for (int first = offsets[first_row]; first < offsets[last_row]; first += CHUNK) {
    int last = min(first + CHUNK, offsets[last_row]);
    for (int k = first + t; k < last; k += THREADS)
      products[k - first] = values[k] * x[columns[k]];
    __syncthreads();
    for (int k = max(begin, first) + lane; k < min(end, last); k += 8)
      sum += products[k - first];
    __syncthreads();
  }
  for (int d = 4; d > 0; d /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, d, 8);
  if (row < rows && lane == 0)
    y[row] = alpha * sum + (beta == 0 ? 0 : beta * y[row]);
}

extern "C" void spmv_on_device(float *y, const int *offsets, const int *columns, const float *values, const float *x,
                               float alpha, float beta, int rows, int count) {
  (void)count;
  if (rows > 0)
    spmv<<<(rows + ROWS - 1) / ROWS, THREADS>>>(y, offsets, columns, values, x, alpha, beta, rows);
}
