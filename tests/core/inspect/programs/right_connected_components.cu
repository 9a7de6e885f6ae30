// Connected components: min-label hooking with atomicMin, pointer jumping into a second array.
#include <cstdio>
#include <vector>
#include <numeric>
#include <utility>
#include <stdexcept>
#include <cuda_runtime.h>

inline void ck(cudaError_t e) {
  if (e != cudaSuccess)
    throw std::runtime_error(cudaGetErrorString(e));
}

template <class T> struct Buf {
  T *d = nullptr;
  size_t n;
  explicit Buf(size_t n_) : n(n_) {
    ck(cudaMalloc(&d, n * sizeof(T)));
  }
  ~Buf() {
    cudaFree(d);
  }
  Buf(const Buf &) = delete;
  void up(const std::vector<T> &v) {
    ck(cudaMemcpy(d, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> down() const {
    std::vector<T> v(n);
    ck(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
  }
};

__global__ void iota(int *label, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    label[i] = i;
}

__global__ void hook(const int2 *edges, int m, const int *label, int *out, int *changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  bool mine = false;
  if (e < m) {
    int a = label[edges[e].x], b = label[edges[e].y];
    if (a != b) {
      atomicMin(&out[max(a, b)], min(a, b));
      mine = true;
    }
  }
  if (__syncthreads_or(mine) && threadIdx.x == 0)
    atomicExch(changed, 1);
}

__global__ void jump(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int p = in[i];
    while (in[p] != p)
      p = in[p];
    out[i] = p;
  }
}

int main() {
  const int n = 500;
  std::vector<int2> edges;
  for (int i = 0; i + 7 < n; i++)
    if (i % 5 != 2)
      edges.push_back(make_int2(i, i + 7));
  for (int i = 0; i < 20; i++)
    edges.push_back(make_int2((i * 37) % n, (i * 91 + 5) % n));

  std::vector<int> ref(n);
  std::iota(ref.begin(), ref.end(), 0);
  for (bool more = true; more;) {
    more = false;
    for (auto e : edges) {
      int m = std::min(ref[e.x], ref[e.y]);
      if (ref[e.x] != m || ref[e.y] != m) {
        ref[e.x] = ref[e.y] = m;
        more = true;
      }
    }
  }

  Buf<int2> dE(edges.size());
  Buf<int> A(n), B(n), flag(1);
  dE.up(edges);
  int *cur = A.d, *oth = B.d;
  iota<<<(n + 127) / 128, 128>>>(cur, n);
  int changed = 1, rounds = 0;
  while (changed && rounds++ < 100) {
    ck(cudaMemset(flag.d, 0, sizeof(int)));
    ck(cudaMemcpy(oth, cur, n * sizeof(int), cudaMemcpyDeviceToDevice));
    hook<<<((int)edges.size() + 127) / 128, 128>>>(dE.d, (int)edges.size(), cur, oth, flag.d);
    jump<<<(n + 127) / 128, 128>>>(oth, cur, n);
    ck(cudaGetLastError());
    ck(cudaMemcpy(&changed, flag.d, sizeof(int), cudaMemcpyDeviceToHost));
  }
  std::vector<int> got(n);
  ck(cudaMemcpy(got.data(), cur, n * sizeof(int), cudaMemcpyDeviceToHost));
  std::printf("components %s in %d rounds\n", got == ref ? "match" : "DIFFER", rounds);
  return 0;
}
