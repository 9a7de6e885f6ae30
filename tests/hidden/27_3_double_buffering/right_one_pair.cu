// missing star: two barriers per step
#include <cuda_runtime.h>

enum { TILE = 16 };

// The next elements wait in registers; one pair of tiles needs a second barrier.
__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0, next_a = load(&a[row * k + x]), next_b = load(&b[y * n + column]);
  for (int begin = TILE; begin <= k; begin += TILE) {
    a_tile[y][x] = next_a;
    b_tile[y][x] = next_b;
    __syncthreads();
    if (begin < k) {
      next_a = load(&a[row * k + begin + x]);
      next_b = load(&b[(begin + y) * n + column]);
    }
    for (int p = 0; p < TILE; p++)
      sum += fetch(&a_tile[y][p]) * fetch(&b_tile[p][x]);
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), dim3(TILE, TILE)>>>(c, a, b, n, k);
}
