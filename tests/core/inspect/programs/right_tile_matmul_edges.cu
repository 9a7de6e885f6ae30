// Tiled matrix product whose sizes are no multiples of the tile: the threads outside fill their
// place in the tiles with zeros and pass every barrier; they only leave the store out.
#include <cstdio>
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul(const int *A, const int *B, int *C, int M, int N, int K) {
  __shared__ int a[TILE][TILE];
  __shared__ int b[TILE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
  int acc = 0;
  for (int k0 = 0; k0 < K; k0 += TILE) {
    a[ty][tx] = (row < M && k0 + tx < K) ? A[row * K + k0 + tx] : 0;
    b[ty][tx] = (col < N && k0 + ty < K) ? B[(k0 + ty) * N + col] : 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < TILE; k++)
      acc += a[ty][k] * b[k][tx];
    __syncthreads();
  }
  if (row < M && col < N)
    C[row * N + col] = acc;
}

int main() {
  const int M = 37, N = 29, K = 41;
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
  printf("tile_matmul_edges: wrong %d\n", wrong);
  return wrong != 0;
}
