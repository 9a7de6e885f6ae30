// A block of 256 threads in one dimension; the tile of a is stored turned.
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_turned[TILE][TILE + 1];
  __shared__ float b_tile[TILE][TILE];
  const int y = threadIdx.x / TILE, x = threadIdx.x % TILE;
  const int row = blockIdx.x / ((n + TILE - 1) / TILE) * TILE + y,
            column = blockIdx.x % ((n + TILE - 1) / TILE) * TILE + x;
  float sum = 0;
  for (int step = 0; step < (k + TILE - 1) / TILE; step++) {
    const int p = step * TILE;
    float of_a = 0, of_b = 0;
    if (row < m && p + x < k)
      of_a = load(a + row * k + p + x);
    if (p + y < k && column < n)
      of_b = load(b + (p + y) * n + column);
    a_turned[x][y] = of_a;
    b_tile[y][x] = of_b;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; i++)
      sum += a_turned[i][y] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<(m + TILE - 1) / TILE *((n + TILE - 1) / TILE), TILE * TILE>>>(c, a, b, m, n, k);
}
