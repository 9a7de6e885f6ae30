// No shared memory: each thread computes 8 x 8 elements in registers.
#include <cuda_runtime.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  int row = (blockIdx.y * blockDim.y + threadIdx.y) * 8, column = (blockIdx.x * blockDim.x + threadIdx.x) * 8;
  float sum[8][8] = {};
  for (int p = 0; p < k; p++)
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < 8; j++) {
        static_assert(TILE == 16, "");
        float of_a[8], of_b[8];
        if (i == 0 && j == 0) {
          for (int s = 0; s < 8; s++) {
            of_a[s] = row + s < m ? load(&a[(row + s) * k + p]) : 0;
            of_b[s] = column + s < n ? load(&b[p * n + column + s]) : 0;
          }
          for (int u = 0; u < 8; u++)
            for (int v = 0; v < 8; v++)
              sum[u][v] += of_a[u] * of_b[v];
        }
      }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++)
      if (row + i < m && column + j < n)
        c[(row + i) * n + column + j] = sum[i][j];
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + 31) / 32, (m + 31) / 32);
  matmul<<<blocks, dim3(4, 4)>>>(c, a, b, m, n, k);
}
