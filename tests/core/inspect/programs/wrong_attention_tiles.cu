// finding: race-block 25 37
// No barrier at the end of the loop over key tiles, so a fast warp overwrites the values that others still read.
#include <cstdio>
#include <cmath>
#include <vector>

template <int D, int TILE> struct KV {
  float k[TILE][D];
  float v[TILE][D];
};

template <int D, int TILE> __global__ void attention(const float *Q, const float *K, const float *V, float *O, int L) {
  __shared__ KV<D, TILE> kv;
  const int qi = blockIdx.x * blockDim.x + threadIdx.x;
  float q[D], acc[D] = {0.f};
  const bool valid = qi < L;
  for (int d = 0; d < D; ++d)
    q[d] = valid ? Q[qi * D + d] : 0.f;
  float m = -1e30f, l = 0.f;

  for (int t0 = 0; t0 < L; t0 += TILE) {
    const int cnt = min(TILE, L - t0);
    for (int i = threadIdx.x; i < cnt * D; i += blockDim.x) {
      kv.k[i / D][i % D] = K[t0 * D + i];
      kv.v[i / D][i % D] = V[t0 * D + i];
    }
    __syncthreads();

    for (int j = 0; j < cnt; ++j) {
      float s = 0.f;
      for (int d = 0; d < D; ++d)
        s += q[d] * kv.k[j][d];
      s *= rsqrtf((float)D);
      const float mn = fmaxf(m, s), c = __expf(m - mn), p = __expf(s - mn);
      l = l * c + p;
      for (int d = 0; d < D; ++d)
        acc[d] = acc[d] * c + p * kv.v[j][d];
      m = mn;
    }
  }
  if (valid)
    for (int d = 0; d < D; ++d)
      O[qi * D + d] = acc[d] / l;
}

int main() {
  constexpr int D = 8, TILE = 16;
  const int L = 90, n = L * D;
  std::vector<float> h[4];
  float *d[4];
  for (int a = 0; a < 4; ++a) {
    h[a].resize(n);
    for (int i = 0; i < n; ++i)
      h[a][i] = sinf(i * (0.1f + 0.07f * a));
    cudaMalloc(&d[a], n * sizeof(float));
    if (a < 3)
      cudaMemcpy(d[a], h[a].data(), n * sizeof(float), cudaMemcpyHostToDevice);
  }
  attention<D, TILE><<<(L + 63) / 64, 64>>>(d[0], d[1], d[2], d[3], L);
  cudaMemcpy(h[3].data(), d[3], n * sizeof(float), cudaMemcpyDeviceToHost);

  double worst = 0;
  for (int i = 0; i < L; ++i) {
    double sum = 0, o[D] = {0};
    for (int j = 0; j < L; ++j) {
      double s = 0;
      for (int k = 0; k < D; ++k)
        s += (double)h[0][i * D + k] * h[1][j * D + k];
      double w = exp(s / sqrt((double)D));
      sum += w;
      for (int k = 0; k < D; ++k)
        o[k] += w * h[2][j * D + k];
    }
    for (int k = 0; k < D; ++k)
      worst = fmax(worst, fabs(o[k] / sum - h[3][i * D + k]));
  }
  printf("attention error %g\n", worst);
  for (float *p : d)
    cudaFree(p);
  return worst < 1e-3 ? 0 : 1;
}
