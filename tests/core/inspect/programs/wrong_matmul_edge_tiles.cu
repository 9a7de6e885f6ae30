// finding: uninitialized-shared 29
// In the last round over K the threads beyond the edge leave their places in the second pair of tiles unwritten, and all
// threads read them.
// Tiled matrix product with two pairs of tiles, whose sizes are no multiples of the tile: the
// threads outside pass every barrier like the others and leave the store out.
#include <cstdio>
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul(const int *A, const int *B, int *C, int M, int N, int K) {
  __shared__ int a[2][TILE][TILE];
  __shared__ int b[2][TILE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  int acc = 0, p = 0;
  for (int q = ty; q < TILE; q += TILE) {
    a[0][q][tx] = 0;
    b[0][q][tx] = 0;
  }
  for (int k0 = 0; k0 < K; k0 += TILE) {
    if (row < M && k0 + tx < K)
      a[p][ty][tx] = A[row * K + k0 + tx];
    if (col < N && k0 + ty < K)
      b[p][ty][tx] = B[(k0 + ty) * N + col];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++)
      acc += a[p][ty][k] * b[p][k][tx];
    p ^= 1;
  }
  if (row < M && col < N)
    C[row * N + col] = acc;
}

int main() {
  const int M = 37, N = 29, K = 27;
  static int A[M * K], B[K * N], C[M * N];
  for (int i = 0; i < M * K; i++)
    A[i] = i % 7 - 3;
  for (int i = 0; i < K * N; i++)
    B[i] = i % 5 - 2;
  int *dA, *dB, *dC;
  cudaMalloc(&dA, sizeof A);
  cudaMalloc(&dB, sizeof B);
  cudaMalloc(&dC, sizeof C);
  cudaMemcpy(dA, A, sizeof A, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, sizeof B, cudaMemcpyHostToDevice);
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), block(TILE, TILE);
  matmul<<<grid, block>>>(dA, dB, dC, M, N, K);
  cudaError_t e = cudaDeviceSynchronize();
  cudaMemcpy(C, dC, sizeof C, cudaMemcpyDeviceToHost);
  int wrong = (e != cudaSuccess);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int w = 0;
      for (int k = 0; k < K; k++)
        w += A[i * K + k] * B[k * N + j];
      if (w != C[i * N + j])
        wrong++;
    }
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  printf("matmul_edge_tiles: wrong %d\n", wrong);
  return wrong != 0;
}
