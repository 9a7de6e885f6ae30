// mistake: no kernel was launched
#include <cuda_runtime.h>

enum { TILE = 64, STEP = 8, EACH = 8, THREADS = TILE / EACH * (TILE / EACH) };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[TILE][STEP], b_tile[STEP][TILE];
  int t = threadIdx.x, x = t % (TILE / EACH) * EACH, y = t / (TILE / EACH) * EACH;
  int top = blockIdx.y * TILE, left = blockIdx.x * TILE;
  float sum[EACH][EACH] = {{0}}, row[EACH], column[EACH];
  for (int begin = 0; begin < k; begin += STEP) {
    for (int i = t; i < TILE * STEP; i += THREADS) {
      a_tile[i / STEP][i % STEP] = a[(top + i / STEP) * k + begin + i % STEP];
      b_tile[i / TILE][i % TILE] = b[(begin + i / TILE) * n + left + i % TILE];
    }
    __syncthreads();
    for (int p = 0; p < STEP; p++) {
      for (int i = 0; i < EACH; i++) {
        column[i] = a_tile[y + i][p];
        row[i] = b_tile[p][x + i];
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++)
          sum[i][j] += column[i] * row[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++)
      c[(top + y + i) * n + left + x + j] = sum[i][j];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  (void)c, (void)a, (void)b, (void)m, (void)n, (void)k, (void)matmul;
}
