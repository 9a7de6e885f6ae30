// finding: race-warp 32 22
// Every third generation reads and writes the same buffer (the roles of the buffers are rotated wrongly).
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

const int W = 64, H = 40;

__device__ inline int alive(const unsigned *rows, int x, int y) {
  x = (x + W) % W;
  y = (y + H) % H;
  return rows[y * W + x] & 1;
}

__global__ void generation(const unsigned *from, unsigned *to) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  int n = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx || dy)
        n += alive(from, x + dx, y + dy);
  to[y * W + x] = n == 3 || (n == 2 && alive(from, x, y));
}

int main() {
  const int gens = 7;
  std::vector<unsigned> a(W * H), b(W * H), got(W * H);
  for (int i = 0; i < W * H; i++)
    a[i] = (i * 2654435761u >> 20) % 3 == 0;
  unsigned *d[3];
  for (auto &p : d)
    CK(cudaMalloc(&p, W * H * sizeof(unsigned)));
  CK(cudaMemcpy(d[0], a.data(), W * H * sizeof(unsigned), cudaMemcpyHostToDevice));
  int cur = 0;
  for (int k = 0; k < gens; k++) {
    int next = (cur + 1 + (k % 3 == 2 ? 2 : 0)) % 3; // the third buffer is there for a snapshot of every third one
    generation<<<dim3(2, H), 32>>>(d[cur], d[next]);
    cur = next;
  }
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), d[cur], W * H * sizeof(unsigned), cudaMemcpyDeviceToHost));
  for (int k = 0; k < gens; k++) {
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        int n = 0;
        for (int dy = -1; dy <= 1; dy++)
          for (int dx = -1; dx <= 1; dx++)
            if (dx || dy)
              n += a[(y + dy + H) % H * W + (x + dx + W) % W];
        b[y * W + x] = n == 3 || (n == 2 && a[y * W + x]);
      }
    std::swap(a, b);
  }
  int ok = a == got;
  for (auto p : d)
    CK(cudaFree(p));
  printf("life_in_place: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
