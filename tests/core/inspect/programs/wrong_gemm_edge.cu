// finding: bounds-global 25
// The rows of B are not checked against K, so the last tile in K reads beyond the end of B.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define TILE 16

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
  __shared__ float sa[TILE][TILE];
  __shared__ float sb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int row = blockIdx.y * TILE + ty;
  int col = blockIdx.x * TILE + tx;
  float acc = 0.0f;

  for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
    int ka = t * TILE + tx;
    int kb = t * TILE + ty;
    if (row < M && ka < K)
      sa[ty][tx] = A[row * K + ka];
    else
      sa[ty][tx] = 0.0f;
    if (col < N)
      sb[ty][tx] = B[kb * N + col];
    else
      sb[ty][tx] = 0.0f;
    __syncthreads();

    int kmax = min(TILE, K - t * TILE);
    for (int k = 0; k < kmax; k++)
      acc += sa[ty][k] * sb[k][tx];
    __syncthreads();
  }
  if (row < M && col < N)
    C[row * N + col] = acc;
}

static float *new_matrix(int r, int c, int mod) {
  float *m = (float *)malloc((size_t)r * c * sizeof(float));
  for (int i = 0; i < r * c; i++)
    m[i] = (float)(i % mod - mod / 2);
  return m;
}

int main(int argc, char **argv) {
  int M = 40, N = 35, K = 50;
  if (argc == 4) {
    M = atoi(argv[1]);
    N = atoi(argv[2]);
    K = atoi(argv[3]);
  }
  float *A = new_matrix(M, K, 7), *B = new_matrix(K, N, 11), *C = new_matrix(M, N, 2);
  float *dA, *dB, *dC;
  cudaMalloc((void **)&dA, M * K * sizeof(float));
  cudaMalloc((void **)&dB, K * N * sizeof(float));
  cudaMalloc((void **)&dC, M * N * sizeof(float));
  cudaMemcpy(dA, A, M * K * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, K * N * sizeof(float), cudaMemcpyHostToDevice);
  dim3 block(TILE, TILE);
  dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
  gemm<<<grid, block>>>(dA, dB, dC, M, N, K);
  cudaMemcpy(C, dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float s = 0;
      for (int k = 0; k < K; k++)
        s += A[i * K + k] * B[k * N + j];
      if (fabsf(s - C[i * N + j]) > 1e-3f)
        wrong++;
    }
  printf("gemm %d x %d x %d: %s\n", M, N, K, wrong ? "FAIL" : "PASS");
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  free(A);
  free(B);
  free(C);
  return wrong != 0;
}
