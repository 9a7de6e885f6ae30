// Past the end of k, a is read at its last column, and b is 0 there.
#include "counted.cuh" // load, store
#include <cuda_runtime.h>
#include <stdio.h>

enum { TILE = 16 };

__global__ void matmul(float *c, const float *a, const float *b, int m, int n, int k) {
  __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
  int y = threadIdx.y, x = threadIdx.x;
  // Indices are size_t: a product of two ints overflows from 46341 x 46341 on.
  int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0;
  for (int begin = 0; begin < k; begin += TILE) {
    a_tile[y][x] = row < m ? load(&a[(size_t)row * k + min(begin + x, k - 1)]) : 0;
    b_tile[y][x] = begin + y < k && column < n ? load(&b[(size_t)(begin + y) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++)
      sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  if (row < m && column < n)
    c[(size_t)row * n + column] = sum;
}

extern "C" void matmul_on_device(float *c, const float *a, const float *b, int m, int n, int k) {
  dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  matmul<<<blocks, dim3(TILE, TILE)>>>(c, a, b, m, n, k);
  if (cudaPeekAtLastError() != cudaSuccess) // a launch returns nothing: whether it could begin has to be asked for
    fprintf(stderr, "matmul: %s\n", cudaGetErrorString(cudaPeekAtLastError()));
}
