// 2D heat equation, pitched memory, shared-memory tile with halo, ping-pong buffers.
#include <cstdio>
#include <cmath>
#include <vector>
#include <utility>
#include <cuda_runtime.h>

constexpr int W = 70, H = 45;
constexpr int TX = 16, TY = 8;

__device__ inline const float *row(const float *base, size_t pitch, int y) {
  return reinterpret_cast<const float *>(reinterpret_cast<const char *>(base) + y * pitch);
}

__global__ void heatStep(const float *in, float *out, size_t pitch, int w, int h, float c) {
  __shared__ float t[TY + 2][TX + 2];
  const int x = blockIdx.x * TX + threadIdx.x;
  const int y = blockIdx.y * TY + threadIdx.y;
  const int lx = threadIdx.x + 1, ly = threadIdx.y + 1;

  if (x < w && y < h) {
    t[ly][lx] = row(in, pitch, y)[x];
    if (threadIdx.x == 0 && x > 0)
      t[ly][0] = row(in, pitch, y)[x - 1];
    if (threadIdx.x == TX - 1 && x + 1 < w)
      t[ly][TX + 1] = row(in, pitch, y)[x + 1];
    if (threadIdx.y == 0 && y > 0)
      t[0][lx] = row(in, pitch, y - 1)[x];
    if (threadIdx.y == TY - 1 && y + 1 < h)
      t[TY + 1][lx] = row(in, pitch, y + 1)[x];
  }
  __syncthreads();

  if (x >= w || y >= h)
    return;
  float v = t[ly][lx];
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1)
    v += c * (t[ly][lx - 1] + t[ly][lx + 1] + t[ly - 1][lx] + t[ly + 1][lx] - 4.0f * v);
  reinterpret_cast<float *>(reinterpret_cast<char *>(out) + y * pitch)[x] = v;
}

int main() {
  const int steps = 6;
  const float c = 0.2f;
  std::vector<float> h(W * H, 0.0f), ref, nxt;
  for (int y = 10; y < 20; y++)
    for (int x = 20; x < 50; x++)
      h[y * W + x] = 100.0f;
  ref = h;
  nxt = h;
  for (int s = 0; s < steps; s++) {
    for (int y = 1; y < H - 1; y++)
      for (int x = 1; x < W - 1; x++) {
        int i = y * W + x;
        nxt[i] = ref[i] + c * (ref[i - 1] + ref[i + 1] + ref[i - W] + ref[i + W] - 4.0f * ref[i]);
      }
    std::swap(ref, nxt);
  }

  float *a, *b;
  size_t pitch;
  cudaMallocPitch(&a, &pitch, W * sizeof(float), H);
  cudaMallocPitch(&b, &pitch, W * sizeof(float), H);
  cudaMemcpy2D(a, pitch, h.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice);
  dim3 block(TX, TY), grid((W + TX - 1) / TX, (H + TY - 1) / TY);
  for (int s = 0; s < steps; s++) {
    heatStep<<<grid, block>>>(a, b, pitch, W, H, c);
    std::swap(a, b);
  }
  cudaMemcpy2D(h.data(), W * sizeof(float), a, pitch, W * sizeof(float), H, cudaMemcpyDeviceToHost);
  cudaFree(a);
  cudaFree(b);
  float worst = 0;
  for (int i = 0; i < W * H; i++)
    worst = std::fmax(worst, std::fabs(h[i] - ref[i]));
  std::printf("heat2d max error %g %s\n", worst, worst < 1e-3f ? "OK" : "WRONG");
  return 0;
}
