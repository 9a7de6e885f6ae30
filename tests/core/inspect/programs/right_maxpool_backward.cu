// MaxPool 3x3 stride 2 with indices; the backward pass adds atomically because windows overlap
#include <iostream>
#include <vector>
#include <stdexcept>

#define CUDA_TRY(x)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t e = (x);                                                                                               \
    if (e != cudaSuccess)                                                                                              \
      throw std::runtime_error(cudaGetErrorString(e));                                                                 \
  } while (0)

struct PoolParams {
  int c, h, w, oh, ow;
  int k = 3, stride = 2;
  PoolParams(int c_, int h_, int w_) : c(c_), h(h_), w(w_), oh((h_ - 3) / 2 + 1), ow((w_ - 3) / 2 + 1) {
  }
};

__global__ void poolForward(const float *x, float *y, int *idx, PoolParams p) {
  int n = p.c * p.oh * p.ow;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int ox = i % p.ow, oy = i / p.ow % p.oh, c = i / (p.ow * p.oh);
    int best = (c * p.h + oy * p.stride) * p.w + ox * p.stride;
    for (int dy = 0; dy < p.k; ++dy)
      for (int dx = 0; dx < p.k; ++dx) {
        int j = (c * p.h + oy * p.stride + dy) * p.w + ox * p.stride + dx;
        if (x[j] > x[best])
          best = j;
      }
    y[i] = x[best];
    idx[i] = best;
  }
}

__global__ void poolBackward(const float *dy, const int *idx, float *dx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    atomicAdd(dx + idx[i], dy[i]);
}

template <typename T> class DeviceArray {
  T *p_ = nullptr;
  size_t n_;

public:
  explicit DeviceArray(size_t n) : n_(n) {
    CUDA_TRY(cudaMalloc((void **)&p_, n * sizeof(T)));
  }
  DeviceArray(const std::vector<T> &v) : DeviceArray(v.size()) {
    CUDA_TRY(cudaMemcpy(p_, v.data(), n_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray &) = delete;
  ~DeviceArray() {
    cudaFree(p_);
  }
  operator T *() {
    return p_;
  }
  void zero() {
    CUDA_TRY(cudaMemset(p_, 0, n_ * sizeof(T)));
  }
  std::vector<T> host() const {
    std::vector<T> v(n_);
    CUDA_TRY(cudaMemcpy(v.data(), p_, n_ * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

int main() {
  try {
    PoolParams p(3, 21, 17);
    const int nIn = p.c * p.h * p.w, nOut = p.c * p.oh * p.ow;
    std::vector<float> x(nIn), dy(nOut);
    for (int i = 0; i < nIn; ++i)
      x[i] = float((i * 7919) % 1009);
    for (int i = 0; i < nOut; ++i)
      dy[i] = float(i % 10 + 1);

    DeviceArray<float> dX(x), dDy(dy), dY(nOut), dDx(nIn);
    DeviceArray<int> dIdx(nOut);
    dDx.zero();
    poolForward<<<3, 64>>>(dX, dY, dIdx, p);
    poolBackward<<<(nOut + 63) / 64, 64>>>(dDy, dIdx, dDx, nOut);
    CUDA_TRY(cudaGetLastError());
    auto y = dY.host();
    auto g = dDx.host();

    std::vector<float> ref(nIn, 0.f);
    int wrong = 0;
    for (int c = 0; c < p.c; ++c)
      for (int oy = 0; oy < p.oh; ++oy)
        for (int ox = 0; ox < p.ow; ++ox) {
          int best = (c * p.h + oy * 2) * p.w + ox * 2;
          for (int a = 0; a < 9; ++a) {
            int j = (c * p.h + oy * 2 + a / 3) * p.w + ox * 2 + a % 3;
            if (x[j] > x[best])
              best = j;
          }
          int o = (c * p.oh + oy) * p.ow + ox;
          if (y[o] != x[best])
            ++wrong;
          ref[best] += dy[o];
        }
    for (int i = 0; i < nIn; ++i)
      if (ref[i] != g[i])
        ++wrong;
    std::cout << "maxpool: " << wrong << " mismatches" << std::endl;
    return wrong ? 1 : 0;
  } catch (const std::exception &e) {
    std::cout << "failed: " << e.what() << std::endl;
    return 2;
  }
}
