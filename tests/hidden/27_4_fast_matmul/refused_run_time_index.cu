// compile error: the index e (it depends on each) of sums is not known at compile time
#include <cuda_runtime.h>

enum { TILE = 32, MOST = 8 };

__global__ void product(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, high = blockDim.y, each = TILE / blockDim.y;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sums[MOST];
  for (int e = 0; e < each; e++)
    sums[e] = 0;
  for (int p = 0; p < k; p += TILE) {
    for (int d = 0; d < TILE; d += high) {
      ta[y + d][x] = row + d < m && p + x < k ? a[(size_t)(row + d) * k + p + x] : 0;
      tb[y + d][x] = p + y + d < k && column < n ? b[(size_t)(p + y + d) * n + column] : 0;
    }
    __syncthreads();
    for (int q = 0; q < TILE; q++) {
      float v = tb[q][x];
      for (int e = 0; e < each; e++)
        sums[e] += ta[y + e * high][q] * v;
    }
    __syncthreads();
  }
  for (int e = 0; e < each; e++)
    if (row + e * high < m && column < n)
      c[(size_t)(row + e * high) * n + column] = sums[e];
}

extern "C" void product_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 grid((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  product<<<grid, dim3(TILE, m > 16 ? 8 : 4)>>>(c, a, b, m, n, k);
}
