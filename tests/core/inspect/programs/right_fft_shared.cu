// One 256-point FFT per block, radix 2, in place in shared memory: a butterfly's two elements
// belong to one thread, so that one barrier per stage is enough.
#include <cstdio>
#include <cmath>
#include <cuda_runtime.h>

#define LOGN 8
#define N (1 << LOGN)

__device__ float2 cmul(float2 a, float2 b) {
  return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__global__ void fft(const float2 *in, float2 *out) {
  __shared__ float2 s[N];
  int t = threadIdx.x; // N/2 threads
  const float2 *src = in + blockIdx.x * N;
  float2 *dst = out + blockIdx.x * N;
  for (int i = t; i < N; i += N / 2)
    s[__brev(i) >> (32 - LOGN)] = src[i];
  __syncthreads();
  for (int st = 0; st < LOGN; st++) {
    int half = 1 << st;
    int j = t & (half - 1);
    int a = ((t >> st) << (st + 1)) | j;
    int b = a + half;
    float2 w;
    sincospif(-(float)j / (float)half, &w.y, &w.x);
    float2 u = s[a], v = cmul(s[b], w);
    s[a] = make_float2(u.x + v.x, u.y + v.y);
    s[b] = make_float2(u.x - v.x, u.y - v.y);
    __syncthreads();
  }
  dst[t] = s[t];
  dst[t + N / 2] = s[t + N / 2];
}

int main() {
  const int batch = 3;
  static float2 h[batch * N], g[batch * N];
  for (int i = 0; i < batch * N; i++)
    h[i] = make_float2((float)((i * 13) % 29) - 14.f, (float)((i * 7) % 11) - 5.f);
  float2 *a, *b;
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  fft<<<batch, N / 2>>>(a, b);
  cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  double worst = 0;
  for (int k = 0; k < batch; k++)
    for (int f = 0; f < N; f++) {
      double re = 0, im = 0;
      for (int i = 0; i < N; i++) {
        double an = -2.0 * 3.14159265358979323846 * ((f * i) % N) / N;
        re += h[k * N + i].x * cos(an) - h[k * N + i].y * sin(an);
        im += h[k * N + i].x * sin(an) + h[k * N + i].y * cos(an);
      }
      worst = fmax(worst, fmax(fabs(re - g[k * N + f].x), fabs(im - g[k * N + f].y)));
    }
  bool ok = worst < 0.05;
  printf("fft_shared: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
