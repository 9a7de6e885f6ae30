// Vectorized lower_bound / upper_bound over a sorted table in managed memory; counts equal elements
#include <algorithm>
#include <cstdio>
#include <new>
#include <vector>

template <class T> class Managed {
public:
  explicit Managed(int n) : n_(n) {
    if (cudaMallocManaged(&p_, n * sizeof(T)) != cudaSuccess)
      throw std::bad_alloc();
  }
  ~Managed() {
    cudaFree(p_);
  }
  Managed(const Managed &) = delete;
  Managed &operator=(const Managed &) = delete;
  T *data() {
    return p_;
  }
  T &operator[](int i) {
    return p_[i];
  }
  int size() const {
    return n_;
  }
  void prefetch(int device) {
#if CUDART_VERSION >= 13000
    cudaMemLocation loc;
    loc.type = cudaMemLocationTypeDevice;
    loc.id = device;
    cudaMemPrefetchAsync(p_, n_ * sizeof(T), loc, 0, 0);
#else
    cudaMemPrefetchAsync(p_, n_ * sizeof(T), device, 0);
#endif
  }

private:
  T *p_;
  int n_;
};

template <bool UPPER, class T> __device__ int bound(const T *a, int n, T key) {
  int lo = 0;
  while (n > 0) {
    int half = n >> 1;
    bool right = UPPER ? !(key < a[lo + half]) : a[lo + half] < key;
    if (right) {
      lo += half + 1;
      n -= half + 1;
    } else
      n = half;
  }
  return lo;
}

template <class T> __global__ void equalRange(const T *a, int n, const T *keys, int m, int2 *range, int *maxCount) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = 0;
  if (i < m) {
    int2 r = make_int2(bound<false>(a, n, keys[i]), bound<true>(a, n, keys[i]));
    range[i] = r;
    count = r.y - r.x;
  }
  int best = __reduce_max_sync(0xffffffffu, count);
  if ((threadIdx.x & 31) == 0 && best > 0)
    atomicMax(maxCount, best);
}

int main() {
  const int n = 900, m = 300;
  Managed<int> table(n), keys(m), maxCount(1);
  Managed<int2> range(m);
  for (int i = 0; i < n; ++i)
    table[i] = (i * i) % 211;
  std::sort(table.data(), table.data() + n);
  for (int i = 0; i < m; ++i)
    keys[i] = i - 40;
  maxCount[0] = 0;
  int dev = 0;
  cudaGetDevice(&dev);
  table.prefetch(dev);
  keys.prefetch(dev);

  int minGrid = 0, block = 0;
  cudaOccupancyMaxPotentialBlockSize(&minGrid, &block, equalRange<int>, 0, 128);
  block = block / 32 * 32;
  if (block < 32)
    block = 32;
  equalRange<int><<<(m + block - 1) / block, block>>>(table.data(), n, keys.data(), m, range.data(), maxCount.data());
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("error: %s\n", cudaGetErrorString(e));
    return 1;
  }
  int wrong = 0, best = 0;
  for (int i = 0; i < m; ++i) {
    auto p = std::equal_range(table.data(), table.data() + n, keys[i]);
    int lo = int(p.first - table.data()), hi = int(p.second - table.data());
    if (range[i].x != lo || range[i].y != hi)
      ++wrong;
    best = std::max(best, hi - lo);
  }
  if (best != maxCount[0])
    ++wrong;
  printf("equal_range of %d keys: %d wrong, most frequent %d times\n", m, wrong, maxCount[0]);
  return wrong ? 1 : 0;
}
