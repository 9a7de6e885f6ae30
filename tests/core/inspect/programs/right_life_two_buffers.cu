// Game of life on a torus with two buffers swapped between launches; the tile has a halo loaded by strided threads.
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

const int W = 50, H = 38, TX = 16, TY = 8;

__global__ void generation(const unsigned char *from, unsigned char *to) {
  __shared__ unsigned char tile[TY + 2][TX + 2];
  int x0 = blockIdx.x * TX, y0 = blockIdx.y * TY;
  for (int k = threadIdx.y * TX + threadIdx.x; k < (TX + 2) * (TY + 2); k += TX * TY) {
    int tx = k % (TX + 2), ty = k / (TX + 2);
    tile[ty][tx] = from[(y0 + ty - 1 + H) % H * W + (x0 + tx - 1 + W) % W];
  }
  __syncthreads();
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= W || y >= H)
    return;
  int n = 0;
  for (int dy = 0; dy < 3; dy++)
    for (int dx = 0; dx < 3; dx++)
      n += tile[threadIdx.y + dy][threadIdx.x + dx];
  int self = tile[threadIdx.y + 1][threadIdx.x + 1];
  to[y * W + x] = n == 3 || (n == 4 && self);
}

int main() {
  std::vector<unsigned char> a(W * H), b(W * H), got(W * H);
  for (int i = 0; i < W * H; i++)
    a[i] = (i * i + i / 7) % 3 == 0;
  unsigned char *d[2];
  CK(cudaMalloc(&d[0], W * H));
  CK(cudaMalloc(&d[1], W * H));
  CK(cudaMemcpy(d[0], a.data(), W * H, cudaMemcpyHostToDevice));
  dim3 t(TX, TY), g((W + TX - 1) / TX, (H + TY - 1) / TY);
  const int gens = 9;
  for (int k = 0; k < gens; k++)
    generation<<<g, t>>>(d[k % 2], d[(k + 1) % 2]);
  CK(cudaGetLastError());
  CK(cudaMemcpy(got.data(), d[gens % 2], W * H, cudaMemcpyDeviceToHost));
  for (int k = 0; k < gens; k++) {
    for (int y = 0; y < H; y++)
      for (int x = 0; x < W; x++) {
        int n = 0;
        for (int dy = -1; dy <= 1; dy++)
          for (int dx = -1; dx <= 1; dx++)
            n += a[(y + dy + H) % H * W + (x + dx + W) % W];
        b[y * W + x] = n == 3 || (n == 4 && a[y * W + x]);
      }
    std::swap(a, b);
  }
  int ok = a == got;
  CK(cudaFree(d[0]));
  CK(cudaFree(d[1]));
  printf("life_two_buffers: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
