// BatchNorm in training mode: a block per channel, phases of a cuda::barrier
#include <cuda/barrier>
#include <cstdio>
#include <cmath>
#include <vector>

#pragma nv_diag_suppress static_var_with_dynamic_init

using block_barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int THREADS = 128;

__device__ float reduceSum(float v, float *s, block_barrier &bar) {
  s[threadIdx.x] = v;
  for (int h = THREADS / 2; h > 0; h /= 2) {
    bar.arrive_and_wait();
    if (threadIdx.x < h)
      s[threadIdx.x] += s[threadIdx.x + h];
  }
  bar.arrive_and_wait();
  float r = s[0];
  bar.arrive_and_wait(); // s is written again by the next call
  return r;
}

__global__ void batchnorm(const float *x, float *y, const float *gamma, const float *beta, float *runMean,
                          float *runVar, int N, int C, int HW, float momentum) {
  __shared__ block_barrier bar;
  __shared__ float s[THREADS];
  if (threadIdx.x == 0)
    init(&bar, THREADS);
  __syncthreads();

  const int count = N * HW;
  for (int c = blockIdx.x; c < C; c += gridDim.x) {
    float sum = 0.f, sq = 0.f;
    for (int i = threadIdx.x; i < count; i += THREADS)
      sum += x[((i / HW) * C + c) * HW + i % HW];
    const float mean = reduceSum(sum, s, bar) / count;
    for (int i = threadIdx.x; i < count; i += THREADS) {
      float d = x[((i / HW) * C + c) * HW + i % HW] - mean;
      sq += d * d;
    }
    const float var = reduceSum(sq, s, bar) / count;
    const float k = rsqrtf(var + 1e-5f) * gamma[c];
    for (int i = threadIdx.x; i < count; i += THREADS) {
      int j = ((i / HW) * C + c) * HW + i % HW;
      y[j] = (x[j] - mean) * k + beta[c];
    }
    if (threadIdx.x == 0) {
      runMean[c] = (1 - momentum) * runMean[c] + momentum * mean;
      runVar[c] = (1 - momentum) * runVar[c] + momentum * var * count / (count - 1);
    }
  }
}

int main() {
  const int N = 3, C = 5, HW = 70, total = N * C * HW;
  std::vector<float> x(total), y(total), par(4 * C), stats(2 * C);
  for (int i = 0; i < total; i++)
    x[i] = ((i * 37) % 113) * 0.1f;
  for (int c = 0; c < C; c++) {
    par[c] = 1.0f + c;     // gamma
    par[C + c] = 0.5f * c; // beta
    par[2 * C + c] = 0.0f; // running mean
    par[3 * C + c] = 1.0f; // running variance
  }
  float *dx, *dy, *dp;
  cudaMalloc(&dx, total * sizeof(float));
  cudaMalloc(&dy, total * sizeof(float));
  cudaMalloc(&dp, 4 * C * sizeof(float));
  cudaMemcpy(dx, x.data(), total * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dp, par.data(), 4 * C * sizeof(float), cudaMemcpyHostToDevice);
  batchnorm<<<3, THREADS>>>(dx, dy, dp, dp + C, dp + 2 * C, dp + 3 * C, N, C, HW, 0.1f);
  cudaMemcpy(y.data(), dy, total * sizeof(float), cudaMemcpyDeviceToHost);
  cudaMemcpy(stats.data(), dp + 2 * C, 2 * C * sizeof(float), cudaMemcpyDeviceToHost);

  double err = 0;
  for (int c = 0; c < C; c++) {
    double m = 0, v = 0;
    for (int i = 0; i < N * HW; i++)
      m += x[((i / HW) * C + c) * HW + i % HW] / double(N * HW);
    for (int i = 0; i < N * HW; i++)
      v += pow(x[((i / HW) * C + c) * HW + i % HW] - m, 2) / (N * HW);
    for (int i = 0; i < N * HW; i++) {
      int j = ((i / HW) * C + c) * HW + i % HW;
      err = fmax(err, fabs((x[j] - m) / sqrt(v + 1e-5) * par[c] + par[C + c] - y[j]));
    }
    err = fmax(err, fabs(0.1 * m - stats[c]) + fabs(0.9 + 0.1 * v * N * HW / (N * HW - 1) - stats[C + c]));
  }
  printf("batchnorm: error %.2e\n", err);
  cudaFree(dx);
  cudaFree(dy);
  cudaFree(dp);
  return err < 1e-3 ? 0 : 1;
}
