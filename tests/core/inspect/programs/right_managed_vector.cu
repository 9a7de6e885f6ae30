// Data() is taken before a push_back; reserve made room, so the vector in managed memory does not move.
#include <cstdio>
#include <new>
#include <vector>
#include <cuda_runtime.h>

template <class T> struct ManagedAlloc {
  using value_type = T;
  ManagedAlloc() = default;
  template <class U> ManagedAlloc(const ManagedAlloc<U> &) {
  }
  T *allocate(std::size_t n) {
    void *p = nullptr;
    if (cudaMallocManaged(&p, n * sizeof(T)) != cudaSuccess)
      throw std::bad_alloc();
    return static_cast<T *>(p);
  }
  void deallocate(T *p, std::size_t) {
    cudaDeviceSynchronize();
    cudaFree(p);
  }
};
template <class T, class U> bool operator==(const ManagedAlloc<T> &, const ManagedAlloc<U> &) {
  return true;
}
template <class T, class U> bool operator!=(const ManagedAlloc<T> &, const ManagedAlloc<U> &) {
  return false;
}

using ManagedVector = std::vector<int, ManagedAlloc<int>>;

__global__ void addIndex(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    p[i] += i;
}

int main() {
  const int n = 3000;
  int bad = 0;
  {
    ManagedVector v;
    v.reserve(n);
    for (int i = 0; i < n; ++i)
      v.push_back(2 * i);
    v.reserve(n + 1);
    int *p = v.data();
    v.push_back(-n);
    int count = int(v.size());
    addIndex<<<(count + 255) / 256, 256>>>(p, count - 1);
    cudaDeviceSynchronize();
    for (int i = 0; i < n; ++i)
      bad += v[i] != 3 * i;
    bad += v[n] != -n;
  }
  printf("managed vector: %d wrong\n", bad);
  return bad != 0;
}
