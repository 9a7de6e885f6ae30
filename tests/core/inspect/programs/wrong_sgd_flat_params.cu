// finding: misaligned 38
// The third tensor starts at float 107 of the flat buffer, its float4 accesses are not 16-byte aligned.
#include <cstdio>
#include <vector>

struct ParamView {
  float *w;
  float *g;
  int n;
};

struct FlatParams {
  float *weights, *grads;
  std::vector<int> sizes;
  int total;
  explicit FlatParams(std::vector<int> s) : sizes(s), total(0) {
    for (int n : sizes)
      total += n;
    cudaMalloc(&weights, total * sizeof(float));
    cudaMalloc(&grads, total * sizeof(float));
  }
  ~FlatParams() {
    cudaFree(weights);
    cudaFree(grads);
  }
  ParamView view(int k) const {
    int off = 0;
    for (int i = 0; i < k; ++i)
      off += sizes[i];
    return ParamView{weights + off, grads + off, sizes[k]};
  }
};

__global__ void sgd(ParamView p, float lr, float decay) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int vecs = p.n / 4;
  if (i < vecs) {
    float4 w = reinterpret_cast<float4 *>(p.w)[i];
    const float4 g = reinterpret_cast<const float4 *>(p.g)[i];
    w.x -= lr * (g.x + decay * w.x);
    w.y -= lr * (g.y + decay * w.y);
    w.z -= lr * (g.z + decay * w.z);
    w.w -= lr * (g.w + decay * w.w);
    reinterpret_cast<float4 *>(p.w)[i] = w;
  } else if (i < vecs + p.n % 4) {
    int j = vecs * 4 + i - vecs;
    p.w[j] -= lr * (p.g[j] + decay * p.w[j]);
  }
}

int main() {
  FlatParams params({96, 11, 64}); // weight, bias, weight
  std::vector<float> w(params.total), g(params.total), r(params.total);
  for (int i = 0; i < params.total; ++i) {
    w[i] = float(i % 8);
    g[i] = float(i % 3) - 1.f;
  }
  cudaMemcpy(params.weights, w.data(), w.size() * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(params.grads, g.data(), g.size() * sizeof(float), cudaMemcpyHostToDevice);
  for (size_t k = 0; k < params.sizes.size(); ++k) {
    ParamView v = params.view((int)k);
    sgd<<<(v.n / 4 + v.n % 4 + 31) / 32, 32>>>(v, 0.5f, 0.25f);
  }
  cudaError_t e = cudaMemcpy(r.data(), params.weights, r.size() * sizeof(float), cudaMemcpyDeviceToHost);
  if (e != cudaSuccess) {
    printf("sgd: %s\n", cudaGetErrorString(e));
    return 2;
  }
  int wrong = 0;
  for (int i = 0; i < params.total; ++i)
    if (r[i] != w[i] - 0.5f * (g[i] + 0.25f * w[i]))
      ++wrong;
  printf("sgd: %d of %d wrong\n", wrong, params.total);
  return wrong ? 1 : 0;
}
