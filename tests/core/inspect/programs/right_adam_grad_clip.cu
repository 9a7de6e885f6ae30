// Adam with global gradient-norm clipping; the norm is finished by the last block that arrives
#include <cstdio>
#include <cmath>
#include <vector>

#define NT 128

__device__ unsigned int arrived = 0;

__global__ void gradNorm(const float *g, int n, volatile float *partial, float *norm) {
  __shared__ float s[NT];
  __shared__ bool last;
  float v = 0.f;
  for (int i = blockIdx.x * NT + threadIdx.x; i < n; i += gridDim.x * NT)
    v += g[i] * g[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int h = NT / 2; h > 0; h >>= 1) {
    if (threadIdx.x < h)
      s[threadIdx.x] += s[threadIdx.x + h];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1; // wraps to 0 by itself
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float t = 0.f;
    for (unsigned b = 0; b < gridDim.x; b++)
      t += partial[b];
    *norm = sqrtf(t);
  }
}

struct AdamState {
  float *m, *v;
  int step;
  float lr, b1, b2, eps;
};

__global__ void adamStep(float *w, const float *g, AdamState st, const float *norm, float maxNorm, int n) {
  const float clip = *norm > maxNorm ? maxNorm / *norm : 1.0f;
  const float c1 = 1.0f - powf(st.b1, st.step), c2 = 1.0f - powf(st.b2, st.step);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float gi = g[i] * clip;
    float m = st.m[i] = st.b1 * st.m[i] + (1 - st.b1) * gi;
    float v = st.v[i] = st.b2 * st.v[i] + (1 - st.b2) * gi * gi;
    w[i] -= st.lr * (m / c1) / (sqrtf(v / c2) + st.eps);
  }
}

__global__ void quadraticGrad(const float *w, float *g, int n) // loss = sum (w - 1)^2
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    g[i] = 2.0f * (w[i] - 1.0f);
}

int main() {
  const int n = 1500, blocks = 6, steps = 4;
  std::vector<float> w(n), r(n);
  for (int i = 0; i < n; i++)
    w[i] = r[i] = (i % 41) * 0.1f;
  float *dw, *dg, *dpart, *dnorm;
  AdamState st = {nullptr, nullptr, 0, 0.05f, 0.9f, 0.999f, 1e-8f};
  cudaMalloc(&dw, n * sizeof(float));
  cudaMalloc(&dg, n * sizeof(float));
  cudaMalloc(&st.m, n * sizeof(float));
  cudaMalloc(&st.v, n * sizeof(float));
  cudaMalloc(&dpart, blocks * sizeof(float));
  cudaMalloc(&dnorm, sizeof(float));
  cudaMemset(st.m, 0, n * sizeof(float));
  cudaMemset(st.v, 0, n * sizeof(float));
  cudaMemcpy(dw, w.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int s = 1; s <= steps; s++) {
    st.step = s;
    quadraticGrad<<<(n + NT - 1) / NT, NT>>>(dw, dg, n);
    gradNorm<<<blocks, NT>>>(dg, n, dpart, dnorm);
    adamStep<<<blocks, NT>>>(dw, dg, st, dnorm, 10.0f, n);
  }
  cudaMemcpy(w.data(), dw, n * sizeof(float), cudaMemcpyDeviceToHost);

  std::vector<double> m(n, 0.0), v(n, 0.0), x(r.begin(), r.end());
  for (int s = 1; s <= steps; s++) {
    double nn = 0;
    for (int i = 0; i < n; i++)
      nn += 4 * (x[i] - 1) * (x[i] - 1);
    double clip = sqrt(nn) > 10 ? 10 / sqrt(nn) : 1;
    for (int i = 0; i < n; i++) {
      double g = 2 * (x[i] - 1) * clip;
      m[i] = 0.9 * m[i] + 0.1 * g;
      v[i] = 0.999 * v[i] + 0.001 * g * g;
      x[i] -= 0.05 * (m[i] / (1 - pow(0.9, s))) / (sqrt(v[i] / (1 - pow(0.999, s))) + 1e-8);
    }
  }
  double err = 0;
  for (int i = 0; i < n; i++)
    if (i % 41 != 10)
      err = fmax(err, fabs(x[i] - w[i])); // w == 1 has a gradient near 0
  printf("adam: max error %g\n", err);
  cudaFree(dw);
  cudaFree(dg);
  cudaFree(st.m);
  cudaFree(st.v);
  cudaFree(dpart);
  cudaFree(dnorm);
  return err < 1e-2 ? 0 : 1;
}
