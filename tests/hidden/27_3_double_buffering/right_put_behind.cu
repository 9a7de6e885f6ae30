// Brought into registers before the computing, put into the other pair behind it, and a barrier at the end of the step.
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float tiles[4][TILE][TILE]; // a, b, a, b
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  const int steps = k / TILE;
  float sum = 0, left = 0, right = 0;
  tiles[0][y][x] = load(a + row * k + x);
  tiles[1][y][x] = load(b + y * n + column);
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    const int now = step % 2 * 2, other = 2 - now, next = (step + 1) * TILE;
    if (step + 1 < steps) {
      left = load(a + row * k + next + x);
      right = load(b + (next + y) * n + column);
    }
    for (int p = 0; p < TILE; p++)
      sum += fetch(&tiles[now][y][p]) * fetch(&tiles[now + 1][p][x]);
    if (step + 1 < steps) {
      tiles[other][y][x] = left;
      tiles[other + 1][y][x] = right;
      __syncthreads();
    }
  }
  c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
