// mistake: out-of-bounds access
#include <cuda_runtime.h>

enum { TILE = 16 };

// The first of the next row, kept for later: behind the last row that is the other array's.
__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int y = threadIdx.y, x = threadIdx.x;
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = begin + x < k && row < m ? load(&a[(size_t)row * k + begin + x]) : 0;
    b_tile[y][x] = begin + y < k && column < n ? load(&b[(size_t)(begin + y) * n + column]) : 0;
    __syncthreads();
    const volatile float *at = a_tile[y];
    float next = at[0];
    for (int i = 0; i < TILE; i++) {
      sum += next * b_tile[i][x];
      next = at[i + 1];
    }
    __syncthreads();
  }
  if (row < m && column < n)
    c[(size_t)row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
}
