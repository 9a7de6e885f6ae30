// Tiled matrix product, tiles fetched two stages deep with cuda::pipeline
#include <cuda/pipeline>
#include <cstdio>
#include <vector>

constexpr int T = 16;
constexpr int STAGES = 2;

struct Tiles {
  float a[STAGES][T][T];
  float b[STAGES][T][T];
};

template <typename Pipe>
__device__ void fetch(Pipe &pipe, Tiles &s, int stage, const float *A, const float *B, int n, int kt) {
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  pipe.producer_acquire();
  cuda::memcpy_async(&s.a[stage][threadIdx.y][threadIdx.x], &A[row * n + kt * T + threadIdx.x], sizeof(float), pipe);
  cuda::memcpy_async(&s.b[stage][threadIdx.y][threadIdx.x], &B[(kt * T + threadIdx.y) * n + col], sizeof(float), pipe);
  pipe.producer_commit();
}

// n is a multiple of T
__global__ void matmul(const float *A, const float *B, float *C, int n) {
  __shared__ Tiles s;
  auto pipe = cuda::make_pipeline();
  const int nt = n / T;
  float acc = 0.0f;

  fetch(pipe, s, 0, A, B, n, 0);
  for (int kt = 0; kt < nt; ++kt) {
    if (kt + 1 < nt)
      fetch(pipe, s, (kt + 1) % STAGES, A, B, n, kt + 1);
    pipe.consumer_wait();
    __syncthreads();
    const int st = kt % STAGES;
    for (int k = 0; k < T; ++k)
      acc += s.a[st][threadIdx.y][k] * s.b[st][k][threadIdx.x];
    pipe.consumer_release();
    __syncthreads(); // the stage is refilled in the next round
  }
  C[(blockIdx.y * T + threadIdx.y) * n + blockIdx.x * T + threadIdx.x] = acc;
}

int main() {
  const int n = 64;
  const size_t bytes = n * n * sizeof(float);
  std::vector<float> A(n * n), B(n * n), C(n * n);
  for (int i = 0; i < n * n; ++i) {
    A[i] = float((i * 3) % 11) - 5.f;
    B[i] = float((i * 5) % 7) - 3.f;
  }
  float *dA = nullptr, *dB = nullptr, *dC = nullptr;
  cudaMalloc(&dA, bytes);
  cudaMalloc(&dB, bytes);
  cudaMalloc(&dC, bytes);
  cudaMemcpy(dA, A.data(), bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(dB, B.data(), bytes, cudaMemcpyHostToDevice);
  matmul<<<dim3(n / T, n / T), dim3(T, T)>>>(dA, dB, dC, n);
  cudaError_t err = cudaDeviceSynchronize();
  if (err != cudaSuccess) {
    printf("%s\n", cudaGetErrorString(err));
    return 2;
  }
  cudaMemcpy(C.data(), dC, bytes, cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float ref = 0;
      for (int k = 0; k < n; ++k)
        ref += A[i * n + k] * B[k * n + j];
      wrong += ref != C[i * n + j];
    }
  printf("matmul with pipeline: %d wrong of %d\n", wrong, n * n);
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return wrong ? 1 : 0;
}
