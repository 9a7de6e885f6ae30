// finding: race-grid 44 49
// No __threadfence between the partial result and the ticket that announces it.
#include <cstdio>
#include <cmath>
#include <vector>

#define THREADS 128

struct Stat {
  float sum, sumSq;
};

__device__ unsigned int ticket = 0;

__device__ Stat blockStat(float s, float q) {
  __shared__ float ss[THREADS / 32], sq[THREADS / 32];
  for (int o = 16; o > 0; o >>= 1) {
    s += __shfl_down_sync(0xffffffffu, s, o);
    q += __shfl_down_sync(0xffffffffu, q, o);
  }
  if (threadIdx.x % 32 == 0) {
    ss[threadIdx.x / 32] = s;
    sq[threadIdx.x / 32] = q;
  }
  __syncthreads();
  Stat r = {0.f, 0.f};
  if (threadIdx.x == 0)
    for (int w = 0; w < THREADS / 32; ++w) {
      r.sum += ss[w];
      r.sumSq += sq[w];
    }
  return r;
}

__global__ void variance(const float *x, int n, Stat *partial, float *result) {
  float s = 0.f, q = 0.f;
  for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
    s += x[i];
    q += x[i] * x[i];
  }
  Stat b = blockStat(s, q);

  if (threadIdx.x == 0) {
    partial[blockIdx.x] = b;
    unsigned int t = atomicAdd(&ticket, 1);
    if (t == gridDim.x - 1) {
      Stat all = {0.f, 0.f};
      for (unsigned int k = 0; k < gridDim.x; ++k) {
        Stat p = partial[k];
        all.sum += p.sum;
        all.sumSq += p.sumSq;
      }
      float mean = all.sum / n;
      result[0] = mean;
      result[1] = all.sumSq / n - mean * mean;
      ticket = 0;
    }
  }
}

int main() {
  const int n = 6000, blocks = 8;
  std::vector<float> x(n);
  double m = 0, v = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = ((i * 41) % 61) * 0.1f;
    m += x[i];
    v += (double)x[i] * x[i];
  }
  m /= n;
  v = v / n - m * m;
  float *dx, *dr, r[2];
  Stat *dp;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dr, 2 * sizeof(float));
  cudaMalloc(&dp, blocks * sizeof(Stat));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  variance<<<blocks, THREADS>>>(dx, n, dp, dr);
  cudaMemcpy(r, dr, sizeof r, cudaMemcpyDeviceToHost);
  bool ok = fabs(r[0] - m) < 1e-3 && fabs(r[1] - v) < 1e-2;
  printf("mean %f variance %f: %s\n", r[0], r[1], ok ? "ok" : "wrong");
  cudaFree(dx);
  cudaFree(dr);
  cudaFree(dp);
  return ok ? 0 : 1;
}
