// finding: race-block 32 13
// Each thread waits for its own asynchronous copies only, there is no barrier before the tiles are read that other threads
// fetch.
#include <cuda_pipeline.h>
#include <cstdio>
#include <vector>

constexpr int T = 16, STAGES = 2;

__device__ __forceinline__ void prefetch(float (*a)[T], float (*b)[T], const float *A, const float *B, int n, int kt) {
  const int tx = threadIdx.x, ty = threadIdx.y;
  __pipeline_memcpy_async(&a[ty][tx], &A[(blockIdx.y * T + ty) * n + kt * T + tx], sizeof(float));
  __pipeline_memcpy_async(&b[ty][tx], &B[(kt * T + ty) * n + blockIdx.x * T + tx], sizeof(float));
  __pipeline_commit();
}

__global__ void matmulAsync(const float *A, const float *B, float *C, int n) {
  __shared__ float as[STAGES][T][T], bs[STAGES][T][T];
  const int tiles = n / T;
  float acc = 0.f;
  prefetch(as[0], bs[0], A, B, n, 0);
  for (int kt = 0; kt < tiles; ++kt) {
    const int cur = kt & 1;
    if (kt + 1 < tiles) {
      prefetch(as[cur ^ 1], bs[cur ^ 1], A, B, n, kt + 1);
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
#pragma unroll
    for (int k = 0; k < T; ++k)
      acc += as[cur][threadIdx.y][k] * bs[cur][k][threadIdx.x];
    __syncthreads();
  }
  C[(blockIdx.y * T + threadIdx.y) * n + blockIdx.x * T + threadIdx.x] = acc;
}

int main() {
  const int n = 48;
  std::vector<float> A(n * n), B(n * n), C(n * n);
  for (int i = 0; i < n * n; ++i) {
    A[i] = float(i % 6) - 2.f;
    B[i] = float(i % 4) - 1.f;
  }
  float *dA, *dB, *dC;
  const size_t bytes = sizeof(float) * n * n;
  cudaMalloc(&dA, bytes);
  cudaMalloc(&dB, bytes);
  cudaMalloc(&dC, bytes);
  cudaMemcpy(dA, A.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), bytes, cudaMemcpyHostToDevice);
  matmulAsync<<<dim3(n / T, n / T), dim3(T, T)>>>(dA, dB, dC, n);
  cudaMemcpy(C.data(), dC, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float s = 0;
      for (int k = 0; k < n; ++k)
        s += A[i * n + k] * B[k * n + j];
      wrong += s != C[i * n + j];
    }
  printf("async matmul: %d wrong\n", wrong);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return wrong != 0;
}
