// finding: leak 37
// When the new buffer is bigger than the limit for copying on the device, the old one is replaced without being freed.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

template <class T> class DeviceVector {
  T *data_ = nullptr;
  int size_ = 0, capacity_ = 0;

public:
  ~DeviceVector() {
    cudaFree(data_);
  }
  T *data() {
    return data_;
  }
  int size() const {
    return size_;
  }

  cudaError_t resize(int n) {
    if (n > capacity_) {
      int cap = capacity_ ? capacity_ : 16;
      while (cap < n)
        cap *= 2;
      T *fresh = nullptr;
      cudaError_t e = cudaMalloc(&fresh, cap * sizeof(T));
      if (e)
        return e;
      if (size_ && cap <= 256) {
        cudaMemcpy(fresh, data_, size_ * sizeof(T), cudaMemcpyDeviceToDevice);
        cudaFree(data_);
      } else if (size_) {
        std::vector<T> via(size_);
        cudaMemcpy(via.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost);
        cudaMemcpy(fresh, via.data(), size_ * sizeof(T), cudaMemcpyHostToDevice);
      }
      data_ = fresh;
      capacity_ = cap;
    }
    size_ = n;
    return cudaSuccess;
  }
};

__global__ void extend(int *x, int from, int n) {
  int i = from + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = from ? x[i % from] + i : i;
}

int main() {
  int bad = 0, sizes[] = {10, 60, 200, 290, 300};
  {
    DeviceVector<int> v;
    std::vector<int> want;
    for (int n : sizes) {
      int from = v.size();
      CK(v.resize(n));
      extend<<<(n - from + 63) / 64, 64>>>(v.data(), from, n);
      CK(cudaGetLastError());
      for (int i = from; i < n; i++)
        want.push_back(from ? want[i % from] + i : i);
      std::vector<int> got(n);
      CK(cudaMemcpy(got.data(), v.data(), n * sizeof(int), cudaMemcpyDeviceToHost));
      bad += got != want;
    }
  }
  printf("regrow_leak: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
