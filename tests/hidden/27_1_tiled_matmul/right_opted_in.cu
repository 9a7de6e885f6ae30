// Long tiles, 256 of k at a time: 64 KiB of shared memory, which a kernel has to be permitted.
#include <cuda_runtime.h>

enum { TILE = 32, DEEP = 256, BYTES = 2 * TILE * DEEP * sizeof(float) };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  extern __shared__ float tiles[];
  float *a_tile = tiles, *b_tile = tiles + TILE * DEEP;
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += DEEP) {
    for (int p = 0; p < DEEP; p += TILE) {
      a_tile[y * DEEP + p + x] = row < m && begin + p + x < k ? load(&a[row * k + begin + p + x]) : 0;
      b_tile[(p + y) * TILE + x] = begin + p + y < k && column < n ? load(&b[(begin + p + y) * n + column]) : 0;
    }
    __syncthreads();
    for (int p = 0; p < DEEP && begin + p < k; p++)
      sum = fmaf(a_tile[y * DEEP + p], b_tile[p * TILE + x], sum);
    __syncthreads();
  }
  if (row < m && column < n)
    c[row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  cudaFuncSetAttribute(matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, BYTES);
  matmul<<<blocks, dim3(TILE, TILE), BYTES>>>(c, a, b, m, n, k);
}
