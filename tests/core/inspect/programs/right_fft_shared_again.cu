// Batched radix-2 FFT of 256 points, one block per signal
#include <cstdio>
#include <cmath>
#include <vector>

constexpr int LOGN = 8;
constexpr int N = 1 << LOGN;

__device__ __forceinline__ float2 cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__global__ void fftKernel(float2 *data, int sign) {
  __shared__ float2 s[N];
  float2 *sig = data + (size_t)blockIdx.x * N;
  const int t = threadIdx.x; // N / 2 threads

  s[__brev(t) >> (32 - LOGN)] = sig[t];
  s[__brev(t + N / 2) >> (32 - LOGN)] = sig[t + N / 2];

  for (int half = 1; half < N; half <<= 1) {
    __syncthreads();
    int k = t & (half - 1);
    int i = ((t - k) << 1) + k;
    int j = i + half;
    float ang = sign * 3.14159265358979f * k / half;
    float sn, cs;
    sincosf(ang, &sn, &cs);
    float2 u = s[i];
    float2 v = cmul(s[j], make_float2(cs, sn));
    s[i] = make_float2(u.x + v.x, u.y + v.y);
    s[j] = make_float2(u.x - v.x, u.y - v.y);
  }
  __syncthreads();
  sig[t] = s[t];
  sig[t + N / 2] = s[t + N / 2];
}

__global__ void scale(float2 *d, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    d[i].x *= f;
    d[i].y *= f;
  }
}

int main() {
  const int batch = 3;
  std::vector<float2> h(batch * N), spec(batch * N), back(batch * N);
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < N; ++i)
      h[b * N + i] = make_float2(cosf(0.1f * (b + 1) * i), ((i * 7 + b) % 13) * 0.05f);

  float2 *d;
  cudaMalloc(&d, h.size() * sizeof(float2));
  cudaMemcpy(d, h.data(), h.size() * sizeof(float2), cudaMemcpyHostToDevice);
  fftKernel<<<batch, N / 2>>>(d, -1);
  cudaMemcpy(spec.data(), d, spec.size() * sizeof(float2), cudaMemcpyDeviceToHost);
  fftKernel<<<batch, N / 2>>>(d, +1);
  scale<<<(batch * N + 127) / 128, 128>>>(d, batch * N, 1.0f / N);
  cudaMemcpy(back.data(), d, back.size() * sizeof(float2), cudaMemcpyDeviceToHost);
  cudaFree(d);

  double worst = 0, worstBack = 0;
  for (int b = 0; b < batch; ++b)
    for (int k = 0; k < N; k += 5) {
      double re = 0, im = 0;
      for (int i = 0; i < N; ++i) {
        double a = -2 * M_PI * ((k * i) % N) / N, c = cos(a), s = sin(a);
        float2 v = h[b * N + i];
        re += v.x * c - v.y * s;
        im += v.x * s + v.y * c;
      }
      worst = fmax(worst, fabs(re - spec[b * N + k].x) + fabs(im - spec[b * N + k].y));
    }
  for (size_t i = 0; i < h.size(); ++i)
    worstBack = fmax(worstBack, fabs(h[i].x - back[i].x) + fabs(h[i].y - back[i].y));
  printf("fft error %g, round trip %g\n", worst, worstBack);
  return worst < 0.05 && worstBack < 1e-3 ? 0 : 1;
}
