// mistake: redundant global loads
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  if (row >= m || column >= n)
    return;
  for (int i = 0; i < k; i++)
    sum += load(&a[row * k + i]) * load(&b[i * n + column]);
  c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
