// D = relu(A*B + bias) with tensor cores: a warp per 16x16 tile, epilogue through shared memory
#include <cstdio>
#include <vector>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

#define M 32
#define N 48
#define K 64
#define WARPS 4

__global__ void gemmBiasRelu(const half *A, const half *B, const float *bias, float *D) {
  __shared__ __align__(32) float stage[WARPS][16 * 16];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int tile = blockIdx.x * WARPS + warp;
  const int tilesN = N / 16, tiles = (M / 16) * tilesN;
  if (tile >= tiles)
    return; // whole warps, and there is no block barrier below
  const int tm = tile / tilesN, tn = tile % tilesN;

  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < K; k += 16) {
    wmma::load_matrix_sync(fa, A + tm * 16 * K + k, K);
    wmma::load_matrix_sync(fb, B + tn * 16 * K + k, K); // B is stored column by column
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(stage[warp], fc, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) {
    int r = i / 16, c = i % 16;
    float v = stage[warp][i] + bias[tn * 16 + c];
    D[(tm * 16 + r) * N + tn * 16 + c] = v > 0.f ? v : 0.f;
  }
}

int main(void) {
  std::vector<half> A(M * K), B(N * K);
  std::vector<float> bias(N), D(M * N);
  for (int i = 0; i < M * K; i++)
    A[i] = __float2half((i % 9) - 4.0f);
  for (int i = 0; i < N * K; i++)
    B[i] = __float2half((i % 5) - 2.0f);
  for (int i = 0; i < N; i++)
    bias[i] = i - 20.0f;

  half *dA, *dB;
  float *dBias, *dD;
  cudaMalloc(&dA, sizeof(half) * A.size());
  cudaMalloc(&dB, sizeof(half) * B.size());
  cudaMalloc(&dBias, sizeof(float) * N);
  cudaMalloc(&dD, sizeof(float) * M * N);
  cudaMemcpy(dA, A.data(), sizeof(half) * A.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), sizeof(half) * B.size(), cudaMemcpyHostToDevice);
  cudaMemcpy(dBias, bias.data(), sizeof(float) * N, cudaMemcpyHostToDevice);

  const int tiles = (M / 16) * (N / 16);
  gemmBiasRelu<<<(tiles + WARPS - 1) / WARPS, 32 * WARPS>>>(dA, dB, dBias, dD);
  cudaMemcpy(D.data(), dD, sizeof(float) * M * N, cudaMemcpyDeviceToHost);

  int wrong = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      float s = bias[j];
      for (int k = 0; k < K; k++)
        s += __half2float(A[i * K + k]) * __half2float(B[j * K + k]);
      if (D[i * N + j] != (s > 0 ? s : 0))
        wrong++;
    }
  printf("wmma gemm: %d wrong\n", wrong);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dBias);
  cudaFree(dD);
  return wrong > 0;
}
