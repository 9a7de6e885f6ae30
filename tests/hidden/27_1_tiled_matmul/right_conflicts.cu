// missing star: bank conflicts
#include <cuda_runtime.h>

enum { TILE = 32 };

// The tile of b is stored transposed, without padding: 32 lanes use one bank.
__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_transposed[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = row < m && begin + x < k ? load(a + row * k + begin + x) : 0.0f;
    b_transposed[x][y] = column < n && begin + y < k ? load(b + (begin + y) * n + column) : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[y][i] * b_transposed[x][i];
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
