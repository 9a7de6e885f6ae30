// finding: uninitialized-global 38
// The second moment is cleared for n bytes instead of n floats, three quarters of it are read without ever having been
// written.
#include <cstdio>
#include <cmath>
#include <vector>

class Adam {
public:
  Adam(int n, float lr) : n_(n), lr_(lr) {
    cudaMalloc(&m_, n * sizeof(float));
    cudaMalloc(&v_, n * sizeof(float));
    cudaMemset(m_, 0, n * sizeof(float));
    cudaMemset(v_, 0, n);
  }
  ~Adam() {
    cudaFree(m_);
    cudaFree(v_);
  }
  void step(float *w, const float *g);

private:
  int n_, t_ = 0;
  float lr_;
  float *m_, *v_;
};

__device__ inline float lerpf(float a, float b, float t) {
  return a + t * (b - a);
}

__global__ void adamKernel(float *w, const float *g, float *m, float *v, int n, float lr, float c1, float c2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float grad = g[i];
  float mi = lerpf(m[i], grad, 0.1f);
  float vi = lerpf(v[i], grad * grad, 0.001f);
  m[i] = mi;
  v[i] = vi;
  w[i] -= lr * (mi / c1) / (sqrtf(vi / c2) + 1e-8f);
}

void Adam::step(float *w, const float *g) {
  ++t_;
  const float c1 = 1.f - powf(0.9f, t_), c2 = 1.f - powf(0.999f, t_);
  adamKernel<<<(n_ + 255) / 256, 256>>>(w, g, m_, v_, n_, lr_, c1, c2);
}

__global__ void gradKernel(const float *w, float *g, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    g[i] = w[i] - 3.0f;
}

int main() {
  const int n = 1000;
  std::vector<float> w(n);
  for (int i = 0; i < n; ++i)
    w[i] = 4.0f + i % 5;
  std::vector<float> start(w);
  float *dw, *dg;
  cudaMalloc(&dw, n * sizeof(float));
  cudaMalloc(&dg, n * sizeof(float));
  cudaMemcpy(dw, w.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  {
    Adam opt(n, 0.1f);
    for (int it = 0; it < 3; ++it) {
      gradKernel<<<(n + 255) / 256, 256>>>(dw, dg, n);
      opt.step(dw, dg);
    }
    cudaDeviceSynchronize();
  }
  cudaMemcpy(w.data(), dw, n * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    if (std::fabs(start[i] - w[i] - 0.3f) > 0.02f)
      ++wrong; // about lr per step at first
  printf("adam: %d parameters off\n", wrong);
  cudaFree(dw);
  cudaFree(dg);
  return wrong != 0;
}
