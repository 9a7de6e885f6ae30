// mistake: products by 0 left out
#include "counted.cuh" // load, store
#include <cuda_runtime.h>
#include <stdio.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float of_a[TILE][TILE], of_b[TILE][TILE];
  __shared__ int of_use[2];
  int i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  if (threadIdx.x == 0 && threadIdx.y == 0)
    of_use[0] = of_use[1] = 0;
  __syncthreads();
  for (int first = 0, turn = 0; first < k; first += TILE, turn ^= 1) {
    int p = first + threadIdx.x, q = first + threadIdx.y;
    float mine = i < m && p < k ? load(&a[(size_t)i * k + p]) : 0;
    of_a[threadIdx.y][threadIdx.x] = mine;
    of_b[threadIdx.y][threadIdx.x] = q < k && j < n ? load(&b[(size_t)q * n + j]) : 0;
    if (mine != 0)
      atomicExch(&of_use[turn], 1);
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
      of_use[turn ^ 1] = 0; // for the next
    if (of_use[turn])
      for (int t = 0; t < TILE; t++)
        sum += of_a[threadIdx.y][t] * of_b[t][threadIdx.x];
    __syncthreads();
  }
  if (i < m && j < n)
    c[(size_t)i * n + j] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
  if (cudaPeekAtLastError() != cudaSuccess)
    fprintf(stderr, "matmul: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
