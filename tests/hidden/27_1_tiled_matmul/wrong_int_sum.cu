// mistake: integer accumulator
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int y = threadIdx.y, x = threadIdx.x;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  int sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = row < m && begin + x < k ? load(&a[row * k + begin + x]) : 0;
    b_tile[y][x] = begin + y < k && column < n ? load(&b[(begin + y) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
