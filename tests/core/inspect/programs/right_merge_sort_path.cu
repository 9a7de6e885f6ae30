// Merge sort by merge path: a thread produces ITEMS outputs; template on type and order
#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

constexpr int ITEMS = 4;

template <typename T> struct Less {
  __host__ __device__ bool operator()(const T &a, const T &b) const {
    return a < b;
  }
};
template <typename T> struct Greater {
  __host__ __device__ bool operator()(const T &a, const T &b) const {
    return b < a;
  }
};

// how many of the first `diag` merged elements come from a
template <typename T, typename Cmp>
__device__ int mergePath(const T *a, int na, const T *b, int nb, int diag, Cmp less) {
  int lo = max(0, diag - nb), hi = min(diag, na);
  while (lo < hi) {
    int mid = (lo + hi) / 2;
    if (!less(b[diag - 1 - mid], a[mid]))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

template <typename T, typename Cmp> __global__ void mergePass(const T *src, T *dst, int n, int width, Cmp less) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * ITEMS;
  if (first >= n)
    return;
  const int start = first / (2 * width) * (2 * width);
  const T *a = src + start;
  const int na = min(width, n - start);
  const T *b = a + na;
  const int nb = max(0, min(width, n - start - width));

  int diag = first - start;
  int i = mergePath(a, na, b, nb, diag, less);
  int j = diag - i;
  for (int k = 0; k < ITEMS && i + j < na + nb; ++k) {
    bool takeA = j >= nb || (i < na && !less(b[j], a[i]));
    dst[first + k] = takeA ? a[i++] : b[j++];
  }
}

template <typename T, typename Cmp> bool testSort(int n, Cmp less) {
  std::vector<T> h(n), out(n);
  for (int i = 0; i < n; ++i)
    h[i] = T((i * 7919LL + 13) % 1013) / T(2);
  T *buf[2];
  cudaMalloc((void **)&buf[0], n * sizeof(T));
  cudaMalloc((void **)&buf[1], n * sizeof(T));

  // the host presorts groups of ITEMS
  for (int g = 0; g < n; g += ITEMS)
    std::sort(h.begin() + g, h.begin() + std::min(n, g + ITEMS), less);
  cudaMemcpy(buf[0], h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  int cur = 0;
  const int threads = 64, blocks = (n + threads * ITEMS - 1) / (threads * ITEMS);
  for (int width = ITEMS; width < n; width *= 2) {
    mergePass<T><<<blocks, threads>>>(buf[cur], buf[cur ^ 1], n, width, less);
    cur ^= 1;
  }
  cudaMemcpy(out.data(), buf[cur], n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(buf[0]);
  cudaFree(buf[1]);
  std::sort(h.begin(), h.end(), less);
  return h == out;
}

int main() {
  bool a = testSort<float>(1000, Less<float>());
  bool b = testSort<int>(777, Greater<int>());
  bool c = testSort<double>(513, Less<double>());
  printf("merge sort: float %s, int descending %s, double %s\n", a ? "ok" : "BAD", b ? "ok" : "BAD", c ? "ok" : "BAD");
  return a && b && c ? 0 : 1;
}
