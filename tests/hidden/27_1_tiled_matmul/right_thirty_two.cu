// Tiles of 32, addresses as pointers, the number of steps counted, b kept turned and padded.
#include <cuda_runtime.h>

enum { TILE = 32 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float of_a[TILE][TILE], of_b[TILE][TILE + 1];
  const int row = blockIdx.x * TILE + threadIdx.y, column = blockIdx.y * TILE + threadIdx.x;
  const int steps = (k + TILE - 1) / TILE;
  float sum = 0;
  for (int step = 0; step < steps; step++) {
    const int inner_a = step * TILE + threadIdx.x, inner_b = step * TILE + threadIdx.y;
    float from_a = 0, from_b = 0;
    if (row < m && inner_a < k)
      from_a = load(a + row * k + inner_a);
    if (inner_b < k && column < n)
      from_b = load(b + inner_b * n + column);
    __syncthreads(); // the tiles of the step before are done with
    of_a[threadIdx.y][threadIdx.x] = from_a;
    of_b[threadIdx.x][threadIdx.y] = from_b;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += of_a[threadIdx.y][i] * of_b[threadIdx.x][i];
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((m + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
