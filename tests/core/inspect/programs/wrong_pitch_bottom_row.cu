// finding: bounds-global 27
// The row below the last one is read: the clamp lets y reach the height (threads of the bottom blocks only).
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

template <class T> class Plane {
  T *base;
  size_t pitch;

public:
  int width, height;
  __host__ __device__ Plane(T *b, size_t p, int w, int h) : base(b), pitch(p), width(w), height(h) {
  }
  __device__ T get(int x, int y) const {
    x = x < 0 ? 0 : x < width ? x : width - 1;
    y = y < 0 ? 0 : y < height ? y : height;
    return *reinterpret_cast<const T *>(reinterpret_cast<const char *>(base) + y * pitch + x * sizeof(T));
  }
  __device__ void set(int x, int y, T v) const {
    *reinterpret_cast<T *>(reinterpret_cast<char *>(base) + y * pitch + x * sizeof(T)) = v;
  }
};

__global__ void laplace(Plane<int> from, Plane<int> to) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= from.width || y >= from.height)
    return;
  to.set(x, y, from.get(x - 1, y) + from.get(x + 1, y) + from.get(x, y - 1) + from.get(x, y + 1) - 4 * from.get(x, y));
}

int main() {
  const int w = 75, h = 41;
  std::vector<int> src(w * h), got(w * h);
  for (int i = 0; i < w * h; i++)
    src[i] = (i * 57) % 203;
  int *a, *b;
  size_t pa, pb;
  CK(cudaMallocPitch(&a, &pa, w * sizeof(int), h));
  CK(cudaMallocPitch(&b, &pb, w * sizeof(int), h));
  CK(cudaMemcpy2D(a, pa, src.data(), w * sizeof(int), w * sizeof(int), h, cudaMemcpyHostToDevice));
  dim3 t(32, 4), g((w + 31) / 32, (h + 3) / 4);
  laplace<<<g, t>>>(Plane<int>(a, pa, w, h), Plane<int>(b, pb, w, h));
  CK(cudaGetLastError());
  CK(cudaMemcpy2D(got.data(), w * sizeof(int), b, pb, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  auto at = [&](int x, int y) { return src[(y < 0 ? 0 : y < h ? y : h - 1) * w + (x < 0 ? 0 : x < w ? x : w - 1)]; };
  int bad = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      bad += got[y * w + x] != at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1) - 4 * at(x, y);
  CK(cudaFree(a));
  CK(cudaFree(b));
  printf("pitch_bottom_row: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
