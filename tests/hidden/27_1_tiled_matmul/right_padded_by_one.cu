// Only b is padded with zeros: past the end of a row, a is read from the next row.
// The tile of a ends where the matrix ends, and not where a row does.
#include "counted.cuh"
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int y = threadIdx.y, x = threadIdx.x;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = (size_t)row * k + begin + x < (size_t)m * k ? load(&a[(size_t)row * k + begin + x]) : 0;
    b_tile[y][x] = begin + y < k && column < n ? load(&b[(size_t)(begin + y) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[(size_t)row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
