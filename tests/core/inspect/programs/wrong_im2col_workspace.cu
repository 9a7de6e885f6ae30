// finding: leak 24
// When the workspace has to grow the old one is not freed.
#include <cstdio>
#include <cmath>
#include <vector>

// 1D convolution by im2col and a matrix-vector product, with a workspace that grows on demand
class Conv1d {
public:
  Conv1d(const std::vector<float> &kernel) : k_((int)kernel.size()) {
    cudaMalloc(&w_, k_ * sizeof(float));
    cudaMemcpy(w_, kernel.data(), k_ * sizeof(float), cudaMemcpyHostToDevice);
  }
  ~Conv1d() {
    cudaFree(w_);
    if (ws_)
      cudaFree(ws_);
  }
  void forward(const float *x, float *y, int n);

private:
  float *workspace(size_t count) {
    if (count > cap_) {
      cudaMalloc(&ws_, count * sizeof(float));
      cap_ = count;
    }
    return ws_;
  }
  int k_;
  float *w_ = nullptr, *ws_ = nullptr;
  size_t cap_ = 0;
};

__global__ void im2col(const float *x, float *col, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = blockIdx.y;
  if (i < n) {
    int src = i + t - k / 2;
    col[t * n + i] = (src >= 0 && src < n) ? x[src] : 0.f;
  }
}

__global__ void gemv(const float *col, const float *w, float *y, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float s = 0.f;
  for (int t = 0; t < k; ++t)
    s += w[t] * col[t * n + i];
  y[i] = s;
}

void Conv1d::forward(const float *x, float *y, int n) {
  float *col = workspace((size_t)n * k_);
  im2col<<<dim3((n + 127) / 128, k_), 128>>>(x, col, n, k_);
  gemv<<<(n + 127) / 128, 128>>>(col, w_, y, n, k_);
}

int main() {
  std::vector<float> kern = {0.25f, 0.5f, 1.0f, 0.5f, 0.25f};
  int wrong = 0;
  {
    Conv1d conv(kern);
    for (int n : {200, 150, 500}) {
      std::vector<float> x(n), y(n);
      for (int i = 0; i < n; ++i)
        x[i] = float(i % 9);
      float *dx, *dy;
      cudaMalloc(&dx, n * sizeof(float));
      cudaMalloc(&dy, n * sizeof(float));
      cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
      conv.forward(dx, dy, n);
      cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);
      for (int i = 0; i < n; ++i) {
        float s = 0;
        for (int t = -2; t <= 2; ++t)
          if (i + t >= 0 && i + t < n)
            s += kern[t + 2] * x[i + t];
        if (std::fabs(s - y[i]) > 1e-5f)
          ++wrong;
      }
      cudaFree(dx);
      cudaFree(dy);
    }
  }
  printf("conv1d: %d wrong\n", wrong);
  return wrong ? 1 : 0;
}
