// mistake: too many shared-memory loads
#include <cuda_runtime.h>

enum { TILE = 64, STEP = 8, EACH = 8 };

__global__ void matmul(float *c, const float *a, const float *b, int n, int k) {
  __shared__ float a_tile[TILE][STEP], b_tile[STEP][TILE];
  int t = threadIdx.x, x = t % TILE, y = t / TILE * EACH;
  float sum[EACH] = {0};
  a += blockIdx.y * TILE * k;
  b += blockIdx.x * TILE;
  for (int begin = 0; begin < k; begin += STEP) {
    a_tile[t / STEP][t % STEP] = a[t / STEP * k + begin + t % STEP];
    b_tile[t / TILE][t % TILE] = b[(begin + t / TILE) * n + t % TILE];
    __syncthreads();
    for (int p = 0; p < STEP; p++) {
      float right = b_tile[p][x];
      for (int i = 0; i < EACH; i++)
        sum[i] += a_tile[y + i][p] * right;
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    c[(blockIdx.y * TILE + y + i) * n + blockIdx.x * TILE + x] = sum[i];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  matmul<<<dim3(n / TILE, m / TILE), TILE * TILE / EACH>>>(c, a, b, n, k);
}
