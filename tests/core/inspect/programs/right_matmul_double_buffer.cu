// Matrix product with 2x2 register tiles and double-buffered shared tiles: the next tile is
// stored while the present one is used, and a single barrier closes each round.
#include <cstdio>
#include <cuda_runtime.h>

#define BM 32
#define BK 8
#define DIM 64
#define KDIM 48

struct Tiles {
  float a[2][BK][BM + 1];
  float b[2][BK][BM];
};

__device__ void fetch(Tiles &s, int buf, const float *A, const float *B, int row0, int col0, int k0, int t) {
  // 256 threads: one element of each tile per thread
  int r = t / BK, k = t % BK;
  s.a[buf][k][r] = A[(row0 + r) * KDIM + k0 + k];
  int kk = t / BM, c = t % BM;
  s.b[buf][kk][c] = B[(k0 + kk) * DIM + col0 + c];
}

__global__ void __launch_bounds__(256) matmul(const float *A, const float *B, float *C) {
  __shared__ Tiles s;
  int t = threadIdx.x;
  int tx = t % 16, ty = t / 16;
  int row0 = blockIdx.y * BM, col0 = blockIdx.x * BM;
  float acc[2][2] = {{0.f, 0.f}, {0.f, 0.f}};

  fetch(s, 0, A, B, row0, col0, 0, t);
  __syncthreads();
  for (int step = 0; step < KDIM / BK; step++) {
    int cur = step & 1;
    if (step + 1 < KDIM / BK)
      fetch(s, cur ^ 1, A, B, row0, col0, (step + 1) * BK, t);
    for (int k = 0; k < BK; k++) {
      float ra[2], rb[2];
      for (int i = 0; i < 2; i++) {
        ra[i] = s.a[cur][k][ty + 16 * i];
        rb[i] = s.b[cur][k][tx + 16 * i];
      }
      for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
          acc[i][j] += ra[i] * rb[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      C[(row0 + ty + 16 * i) * DIM + col0 + tx + 16 * j] = acc[i][j];
}

int main() {
  static float A[DIM * KDIM], B[KDIM * DIM], C[DIM * DIM];
  for (int i = 0; i < DIM * KDIM; i++)
    A[i] = (float)(i % 9 - 4);
  for (int i = 0; i < KDIM * DIM; i++)
    B[i] = (float)(i % 11 - 5);
  float *dA, *dB, *dC;
  cudaMalloc(&dA, sizeof A);
  cudaMalloc(&dB, sizeof B);
  cudaMalloc(&dC, sizeof C);
  cudaMemcpy(dA, A, sizeof A, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B, sizeof B, cudaMemcpyHostToDevice);
  matmul<<<dim3(DIM / BM, DIM / BM), 256>>>(dA, dB, dC);
  cudaMemcpy(C, dC, sizeof C, cudaMemcpyDeviceToHost);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  int wrong = 0;
  for (int i = 0; i < DIM; i++)
    for (int j = 0; j < DIM; j++) {
      float w = 0;
      for (int k = 0; k < KDIM; k++)
        w += A[i * KDIM + k] * B[k * DIM + j];
      wrong += (w != C[i * DIM + j]);
    }
  printf("matmul_double_buffer: %s\n", wrong ? "WRONG" : "ok");
  return wrong ? 1 : 0;
}
