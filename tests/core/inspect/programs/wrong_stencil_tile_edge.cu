// finding: bounds-array 32
// The tile has a halo on the left only, so the last thread of a row reads past the inner dimension (into the next row).
#include <cstdio>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

const int TX = 32, TY = 4;

// Burgers-like step in integers: upwind on the left, a little diffusion from the right
__global__ void step(const int *from, int *to, int w, int h) {
  __shared__ int tile[TY][TX + 1];
  int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * TX + tx, y = blockIdx.y * TY + ty;
  if (x < w && y < h) {
    tile[ty][tx + 1] = from[y * w + x];
    if (tx == 0)
      tile[ty][0] = x > 0 ? from[y * w + x - 1] : 0;
  }
  __syncthreads();
  if (x >= w || y >= h)
    return;
  int left = tile[ty][tx], self = tile[ty][tx + 1];
  int right = x < w - 1 ? tile[ty][tx + 2] : self;
  to[y * w + x] = (2 * left + 5 * self + right) / 8;
}

int main() {
  const int w = 90, h = 11, steps = 4;
  std::vector<int> a(w * h), b(w * h), got(w * h);
  for (int i = 0; i < w * h; i++)
    a[i] = (i * 131) % 4001;
  int *d[2];
  for (int *&p : d)
    CK(cudaMalloc(&p, w * h * sizeof(int)));
  CK(cudaMemcpy(d[0], a.data(), w * h * sizeof(int), cudaMemcpyHostToDevice));
  for (int k = 0; k < steps; k++) {
    step<<<dim3((w + TX - 1) / TX, (h + TY - 1) / TY), dim3(TX, TY)>>>(d[0], d[1], w, h);
    std::swap(d[0], d[1]);
  }
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), d[0], w * h * sizeof(int), cudaMemcpyDeviceToHost));
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < w * h; i++) {
      int x = i % w, left = x ? a[i - 1] : 0, right = x < w - 1 ? a[i + 1] : a[i];
      b[i] = (2 * left + 5 * a[i] + right) / 8;
    }
    std::swap(a, b);
  }
  int ok = a == got;
  for (int *p : d)
    CK(cudaFree(p));
  printf("stencil_tile_edge: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
