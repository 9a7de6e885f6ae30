// finding: race-warp 12 14
// The stages that stay inside a warp's 64 points have no synchronization at all.
#include <cstdio>
#include <cmath>
#include <vector>

constexpr int LOGN = 8, N = 1 << LOGN;

template <int SIGN> __device__ void butterfly(float2 *s, int i, int j, float ang) {
  float sn, cs;
  __sincosf(SIGN * ang, &sn, &cs);
  float2 u = s[i], w = s[j];
  float2 v = make_float2(w.x * cs - w.y * sn, w.x * sn + w.y * cs);
  s[i] = make_float2(u.x + v.x, u.y + v.y);
  s[j] = make_float2(u.x - v.x, u.y - v.y);
}

template <int SIGN> __global__ void fft(const float2 *in, float2 *out) {
  __shared__ float2 s[N];
  const int t = threadIdx.x;
  in += blockIdx.x * N;
  out += blockIdx.x * N;
  s[__brev(t) >> (32 - LOGN)] = in[t];
  s[__brev(t + N / 2) >> (32 - LOGN)] = in[t + N / 2];
  __syncthreads();
  for (int half = 1; half < N; half *= 2) {
    int k = t % half;
    int i = (t / half) * 2 * half + k;
    butterfly<SIGN>(s, i, i + half, 3.14159265f * k / half);
    if (half >= 32) // below that a warp works on its own 64 points
      __syncthreads();
  }
  out[t] = s[t];
  out[t + N / 2] = s[t + N / 2];
}

int main() {
  const int batch = 2;
  std::vector<float2> x(batch * N), y(batch * N);
  for (int i = 0; i < batch * N; ++i)
    x[i] = make_float2(sinf(0.3f * i), (i % 9) * 0.1f);
  float2 *dx, *dy;
  cudaMalloc(&dx, x.size() * sizeof(float2));
  cudaMalloc(&dy, x.size() * sizeof(float2));
  cudaMemcpy(dx, x.data(), x.size() * sizeof(float2), cudaMemcpyHostToDevice);
  fft<-1><<<batch, N / 2>>>(dx, dy);
  cudaMemcpy(y.data(), dy, y.size() * sizeof(float2), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int b = 0; b < batch; ++b)
    for (int k = 0; k < N; k += 3) {
      double re = 0, im = 0;
      for (int n = 0; n < N; ++n) {
        double a = -2 * M_PI * ((n * k) % N) / N;
        re += x[b * N + n].x * cos(a) - x[b * N + n].y * sin(a);
        im += x[b * N + n].x * sin(a) + x[b * N + n].y * cos(a);
      }
      worst = fmax(worst, fabs(re - y[b * N + k].x) + fabs(im - y[b * N + k].y));
    }
  printf("fft: error %g\n", worst);
  cudaFree(dx);
  cudaFree(dy);
  return worst < 0.1 ? 0 : 1;
}
