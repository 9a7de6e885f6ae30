// stars: 1
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float left[TILE][TILE], right[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    left[y][x] = row < m && begin + x < k ? a[(size_t)row * k + begin + x] : 0;
    right[y][x] = begin + y < k && column < n ? b[(size_t)(begin + y) * n + column] : 0;
    __syncthreads();

    for (int p = 0; p < TILE; p++)
      sum += left[y][p] * right[p][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[(size_t)row * n + column] = sum;
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  product<<<grid, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
