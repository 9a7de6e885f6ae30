// finding: race-host 77 76
// The norm is copied asynchronously into pinned memory and read without waiting for the stream.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

class Stream {
  cudaStream_t s_;

public:
  Stream() {
    cudaStreamCreateWithFlags(&s_, cudaStreamNonBlocking);
  }
  ~Stream() {
    cudaStreamDestroy(s_);
  }
  operator cudaStream_t() const {
    return s_;
  }
};

// a warp per row
__global__ void matvec(const float *A, const float *x, float *y, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n)
    return;
  float s = 0.f;
  for (int c = lane; c < n; c += 32)
    s += A[row * n + c] * x[c];
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0)
    y[row] = s;
}

__global__ void norm2(const float *x, int n, float *out) // one warp
{
  float s = 0.f;
  for (int i = threadIdx.x; i < n; i += 32)
    s += x[i] * x[i];
  for (int o = 16; o; o >>= 1)
    s += __shfl_xor_sync(0xffffffffu, s, o);
  if (threadIdx.x == 0)
    *out = sqrtf(s);
}

__global__ void scaleInto(const float *y, float *x, float f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = y[i] * f;
}

int main() {
  const int n = 48;
  std::vector<float> A(n * n), x(n, 1.0f);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      A[i * n + j] = 1.0f / (1 + abs(i - j));
  float *dA, *dx, *dy, *dn, *hn;
  cudaMalloc(&dA, n * n * sizeof(float));
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMalloc(&dn, sizeof(float));
  cudaMallocHost(&hn, sizeof(float));
  cudaMemcpy(dA, A.data(), n * n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  *hn = 1.0f;
  float lambda = 0.f;
  {
    Stream s;
    for (int it = 0; it < 15; ++it) {
      matvec<<<(n * 32 + 127) / 128, 128, 0, s>>>(dA, dx, dy, n);
      norm2<<<1, 32, 0, s>>>(dy, n, dn);
      cudaMemcpyAsync(hn, dn, sizeof(float), cudaMemcpyDeviceToHost, s);
      lambda = *hn;
      scaleInto<<<1, 64, 0, s>>>(dy, dx, 1.0f / lambda, n);
    }
    cudaStreamSynchronize(s);
    lambda = *hn;
  }
  cudaMemcpy(x.data(), dx, n * sizeof(float), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double r = -(double)lambda * x[i];
    for (int j = 0; j < n; ++j)
      r += A[i * n + j] * x[j];
    worst = fmax(worst, fabs(r));
  }
  printf("power iteration: lambda %f, residual %g\n", lambda, worst);
  cudaFree(dA);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dn);
  cudaFreeHost(hn);
  return worst < 0.05 ? 0 : 1;
}
