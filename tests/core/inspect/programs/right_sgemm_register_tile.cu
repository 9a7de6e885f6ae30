// C = alpha*A*B + beta*C with shared tiles and a register tile per thread
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
    sgemm(int M, int N, int K, float alpha, const float *__restrict__ A, const float *__restrict__ B, float beta,
          float *__restrict__ C) {
  constexpr int NT = (BM / TM) * (BN / TN);
  __shared__ float As[BK][BM + 1]; // transposed, padded
  __shared__ float Bs[BK][BN];
  const int tid = threadIdx.x;
  const int tx = tid % (BN / TN), ty = tid / (BN / TN);
  const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;

  float acc[TM][TN] = {};
  float ra[TM], rb[TN];

  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = tid; i < BM * BK; i += NT) {
      int r = i / BK, c = i % BK;
      As[c][r] = (row0 + r < M && k0 + c < K) ? A[(row0 + r) * K + k0 + c] : 0.0f;
    }
    for (int i = tid; i < BK * BN; i += NT) {
      int r = i / BN, c = i % BN;
      Bs[r][c] = (k0 + r < K && col0 + c < N) ? B[(k0 + r) * N + col0 + c] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
      for (int m = 0; m < TM; ++m)
        ra[m] = As[k][ty * TM + m];
      for (int n = 0; n < TN; ++n)
        rb[n] = Bs[k][tx * TN + n];
      for (int m = 0; m < TM; ++m)
        for (int n = 0; n < TN; ++n)
          acc[m][n] += ra[m] * rb[n];
    }
    __syncthreads();
  }

  for (int m = 0; m < TM; ++m)
    for (int n = 0; n < TN; ++n) {
      int r = row0 + ty * TM + m, c = col0 + tx * TN + n;
      if (r < M && c < N) {
        // beta == 0 means that C is not read at all
        float old = beta != 0.0f ? beta * C[r * N + c] : 0.0f;
        C[r * N + c] = alpha * acc[m][n] + old;
      }
    }
}

static void launch(int M, int N, int K, float alpha, const float *A, const float *B, float beta, float *C) {
  dim3 grid((N + 31) / 32, (M + 31) / 32);
  sgemm<32, 32, 8, 4, 4><<<grid, 64>>>(M, N, K, alpha, A, B, beta, C);
}

int main(int argc, char **argv) {
  const int M = argc > 1 ? atoi(argv[1]) : 70, N = argc > 2 ? atoi(argv[2]) : 45, K = argc > 3 ? atoi(argv[3]) : 37;
  std::vector<float> A(M * K), B(K * N), C(M * N);
  for (int i = 0; i < M * K; ++i)
    A[i] = float(i % 7) - 3;
  for (int i = 0; i < K * N; ++i)
    B[i] = float(i % 5) - 2;
  float *dA, *dB, *dC;
  cudaMalloc(&dA, A.size() * sizeof(float));
  cudaMalloc(&dB, B.size() * sizeof(float));
  cudaMalloc(&dC, C.size() * sizeof(float));
  cudaMemcpy(dA, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice);

  launch(M, N, K, 1.0f, dA, dB, 0.0f, dC); // C = AB
  launch(M, N, K, 2.0f, dA, dB, 1.0f, dC); // C = 2AB + C
  cudaMemcpy(C.data(), dC, C.size() * sizeof(float), cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      float s = 0;
      for (int k = 0; k < K; ++k)
        s += A[i * K + k] * B[k * N + j];
      if (std::fabs(C[i * N + j] - 3 * s) > 1e-3f)
        ++wrong;
    }
  printf("sgemm %dx%dx%d: %s\n", M, N, K, wrong ? "WRONG" : "correct");
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return wrong != 0;
}
