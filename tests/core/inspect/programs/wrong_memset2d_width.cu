// finding: uninitialized-global 32
// CudaMemset2D gets the width in elements, not bytes, so the right part of every row is never cleared before it is added to.
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

struct Grid {
  char *base;
  size_t pitch;
  int w, h;
  __device__ int &at(int x, int y) const {
    return reinterpret_cast<int *>(base + y * pitch)[x];
  }
};

__global__ void splat(const short4 *rects, int n, Grid g) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  short4 r = rects[i];
  for (int y = r.y; y < r.y + r.w; y++)
    for (int x = r.x; x < r.x + r.z; x++)
      atomicAdd(&g.at(x, y), i + 1);
}

int main() {
  const int w = 70, h = 30, n = 120;
  std::vector<short4> rects(n);
  std::vector<int> want(w * h, 0), got(w * h);
  for (int i = 0; i < n; i++) {
    short4 r = make_short4(i * 7 % (w - 6), i * 5 % (h - 4), 1 + i % 6, 1 + i % 4);
    rects[i] = r;
    for (int y = r.y; y < r.y + r.w; y++)
      for (int x = r.x; x < r.x + r.z; x++)
        want[y * w + x] += i + 1;
  }
  Grid g{nullptr, 0, w, h};
  short4 *d;
  CK(cudaMallocPitch((void **)&g.base, &g.pitch, w * sizeof(int), h));
  CK(cudaMalloc(&d, n * sizeof(short4)));
  CK(cudaMemcpy(d, rects.data(), n * sizeof(short4), cudaMemcpyHostToDevice));
  CK(cudaMemset2D(g.base, g.pitch, 0, w, h));
  splat<<<2, 64>>>(d, n, g);
  CK(cudaGetLastError());
  CK(cudaMemcpy2D(got.data(), w * sizeof(int), g.base, g.pitch, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int i = 0; i < w * h; i++)
    bad += got[i] != want[i];
  CK(cudaFree(g.base));
  CK(cudaFree(d));
  printf("memset2d_width: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
