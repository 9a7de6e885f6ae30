// Tiles of 8 x 8, a block of two warps, dynamic shared memory, blocks that loop over the tiles of c.
#include <cuda_runtime.h>

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  extern __shared__ float tiles[];
  const int t = 8, x = threadIdx.x % t, y = threadIdx.x / t, across = (n + t - 1) / t, down = (m + t - 1) / t;
  for (int tile = blockIdx.x; tile < across * down; tile += gridDim.x) {
    const int row = tile / across * t + y, column = tile % across * t + x;
    float sum = 0;
    for (int begin = 0; begin < k; begin += t) {
      tiles[y * t + x] = 0;
      tiles[t * t + y * t + x] = 0;
      if (row < m && begin + x < k)
        tiles[y * t + x] = load(&a[row * k + begin + x]);
      if (column < n && begin + y < k)
        tiles[t * t + y * t + x] = load(&b[(begin + y) * n + column]);
      __syncthreads();
      const int steps = k - begin < t ? k - begin : t;
      for (int i = 0; i < steps; i++)
        sum += tiles[y * t + i] * tiles[t * t + i * t + x];
      __syncthreads();
    }
    if (row < m && column < n)
      c[row * n + column] = sum;
  }
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  const int tiles = (n + 7) / 8 * ((m + 7) / 8);
  int blocks = tiles;
  if (blocks > 20)
    blocks = 20;
  matmul<<<blocks, 64, 2 * 64 * sizeof(float)>>>(c, a, b, m, n, k);
}
