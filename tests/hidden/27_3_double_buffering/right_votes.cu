// missing star: two barriers per step
#include "counted.cuh" // load, fetch
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[2][TILE][TILE], b_tile[2][TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  const float *from_a = a + (size_t)row * k + x, *from_b = b + (size_t)y * n + column;
  float sum = 0;
  int pair = 0;
  a_tile[0][y][x] = load(from_a);
  b_tile[0][y][x] = load(from_b);
  __syncthreads();
  for (int p = 0; p < k; p += TILE, pair = 1 - pair) {
    float next_a = 0, next_b = 0;
    bool more = p + TILE < k;
    if (more) {
      next_a = load(from_a + p + TILE);
      next_b = load(from_b + (size_t)(p + TILE) * n);
    }
    for (int q = 0; q < TILE; q++)
      sum += fetch(&a_tile[pair][y][q]) * fetch(&b_tile[pair][q][x]);
    if (more) {
      __syncthreads_or(0); // all have computed
      a_tile[1 - pair][y][x] = next_a;
      b_tile[1 - pair][y][x] = next_b;
      __syncthreads();
    }
  }
  c[(size_t)row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
