// finding: leak 16
// Grow() replaces the managed storage without freeing the
// old one, so every growth leaks an allocation.
#include <cstdio>
#include <cstring>
#include <new>
#include <cuda_runtime.h>

class IntArray {
  int *data_ = nullptr;
  int size_ = 0, capacity_ = 0;

  void grow(int capacity) {
    cudaDeviceSynchronize();
    int *fresh = nullptr;
    if (cudaMallocManaged(&fresh, capacity * sizeof(int)) != cudaSuccess)
      throw std::bad_alloc();
    if (size_ > 0)
      std::memcpy(fresh, data_, size_ * sizeof(int));
    data_ = fresh;
    capacity_ = capacity;
  }

public:
  IntArray() = default;
  IntArray(const IntArray &) = delete;
  IntArray &operator=(const IntArray &) = delete;
  ~IntArray() {
    cudaFree(data_);
  }

  static void *operator new(std::size_t bytes) {
    void *p = nullptr;
    if (cudaMallocManaged(&p, bytes) != cudaSuccess)
      throw std::bad_alloc();
    return p;
  }
  static void operator delete(void *p) {
    cudaFree(p);
  }

  void push(int v) {
    if (size_ == capacity_)
      grow(capacity_ ? 2 * capacity_ : 256);
    data_[size_++] = v;
  }
  __host__ __device__ int &operator[](int i) {
    return data_[i];
  }
  __host__ __device__ int size() const {
    return size_;
  }
};

__global__ void negate(IntArray *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a->size())
    (*a)[i] = -(*a)[i];
}

int main() {
  IntArray *a = new IntArray;
  const int n = 3000;
  for (int i = 0; i < n; ++i)
    a->push(5 * i);
  negate<<<(n + 255) / 256, 256>>>(a);
  cudaDeviceSynchronize();

  int bad = a->size() != n;
  for (int i = 0; i < n; ++i)
    bad += (*a)[i] != -5 * i;
  printf("growing array: %d wrong\n", bad);
  delete a;
  return bad != 0;
}
