// mistake: reads that bypass load and fetch
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[2][TILE][TILE], b_tile[2][TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x, now = 0;
  float sum = 0, next_a = load(&a[row * k + x]), next_b = load(&b[y * n + column]);
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[now][y][x] = next_a;
    b_tile[now][y][x] = next_b;
    __syncthreads();
    if (begin + TILE < k) {
      next_a = load(&a[row * k + begin + TILE + x]);
      next_b = load(&b[(begin + TILE + y) * n + column]);
    }
    for (int p = 0; p < TILE; p++)
      sum += a_tile[now][y][p] * b_tile[now][p][x];
    now = !now;
  }
  c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
