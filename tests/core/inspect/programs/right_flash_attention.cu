// Causal attention with online softmax: K and V tiles in one dynamic shared buffer
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

constexpr int D = 16;  // head dimension
constexpr int BQ = 32; // queries per block = threads per block
constexpr int BK = 16; // keys per tile

__global__ void attention(const float *Q, const float *K, const float *V, float *O, int L, float scale) {
  extern __shared__ float smem[];
  float *ks = smem;          // BK x D
  float *vs = smem + BK * D; // BK x D
  const size_t head = (size_t)blockIdx.y * L * D;
  const int q0 = blockIdx.x * BQ;
  const int qi = q0 + threadIdx.x;
  const bool active = qi < L;

  float q[D], acc[D];
  for (int d = 0; d < D; ++d) {
    q[d] = active ? Q[head + qi * D + d] * scale : 0.f;
    acc[d] = 0.f;
  }
  float m = -INFINITY, l = 0.f;

  // the last key that any query of this block may see
  const int kEnd = min(q0 + BQ, L);
  for (int k0 = 0; k0 < kEnd; k0 += BK) {
    const int nk = min(BK, kEnd - k0);
    for (int i = threadIdx.x; i < nk * D; i += blockDim.x) {
      ks[i] = K[head + k0 * D + i];
      vs[i] = V[head + k0 * D + i];
    }
    __syncthreads();
    if (active) {
      for (int j = 0; j < nk && k0 + j <= qi; ++j) {
        float s = 0.f;
        for (int d = 0; d < D; ++d)
          s += q[d] * ks[j * D + d];
        float mNew = fmaxf(m, s);
        float corr = expf(m - mNew), p = expf(s - mNew);
        l = l * corr + p;
        for (int d = 0; d < D; ++d)
          acc[d] = acc[d] * corr + p * vs[j * D + d];
        m = mNew;
      }
    }
    __syncthreads();
  }
  if (active)
    for (int d = 0; d < D; ++d)
      O[head + qi * D + d] = acc[d] / l;
}

int main() {
  const int H = 2, L = 75;
  const int n = H * L * D;
  std::vector<float> q(n), k(n), v(n), o(n);
  for (int i = 0; i < n; ++i) {
    q[i] = sinf(0.37f * i);
    k[i] = cosf(0.23f * i);
    v[i] = float(i % 17) * 0.1f;
  }
  float *dq, *dk, *dv, *dout;
  float **all[] = {&dq, &dk, &dv, &dout};
  for (float **p : all)
    cudaMalloc(p, n * sizeof(float));
  cudaMemcpy(dq, q.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dk, k.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dv, v.data(), n * sizeof(float), cudaMemcpyHostToDevice);

  const float scale = 1.0f / sqrtf((float)D);
  attention<<<dim3((L + BQ - 1) / BQ, H), BQ, 2 * BK * D * sizeof(float)>>>(dq, dk, dv, dout, L, scale);
  cudaMemcpy(o.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < L; ++i) {
      std::vector<double> w(i + 1);
      double sum = 0;
      for (int j = 0; j <= i; ++j) {
        double s = 0;
        for (int d = 0; d < D; ++d)
          s += (double)q[(h * L + i) * D + d] * k[(h * L + j) * D + d];
        w[j] = exp(s * scale);
        sum += w[j];
      }
      for (int d = 0; d < D; ++d) {
        double r = 0;
        for (int j = 0; j <= i; ++j)
          r += w[j] / sum * v[(h * L + j) * D + d];
        worst = fmax(worst, fabs(r - o[(h * L + i) * D + d]));
      }
    }
  printf("attention: %s (max diff %g)\n", worst < 1e-4 ? "ok" : "mismatch", worst);
  for (float **p : all)
    cudaFree(*p);
  return worst < 1e-4 ? 0 : 1;
}
