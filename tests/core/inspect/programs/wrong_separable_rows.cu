// finding: bounds-array 21
// The tile has TX + 2*R - 1 columns while columns up to TX + 2*R - 1 are filled and read.
#include <cstdio>
#include <cmath>
#include <vector>

#define R 4
#define TX 32
#define TY 4

__constant__ float kern[2 * R + 1];

__global__ void rows(const float *src, float *dst, int w, int h) {
  __shared__ float tile[TY][TX + 2 * R - 1];
  const int y = blockIdx.y * TY + threadIdx.y;
  const int x0 = blockIdx.x * TX;
  if (y < h) {
    for (int i = threadIdx.x; i < TX + 2 * R; i += TX) {
      int x = x0 + i - R;
      x = x < 0 ? 0 : x >= w ? w - 1 : x;
      tile[threadIdx.y][i] = src[y * w + x];
    }
  }
  __syncthreads();
  const int x = x0 + threadIdx.x;
  if (y < h && x < w) {
    float s = 0.f;
    for (int k = 0; k <= 2 * R; ++k)
      s += kern[k] * tile[threadIdx.y][threadIdx.x + k];
    dst[y * w + x] = s;
  }
}

__global__ void cols(const float *src, float *dst, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  float s = 0.f;
  for (int k = -R; k <= R; ++k)
    s += kern[k + R] * src[min(max(y + k, 0), h - 1) * w + x];
  dst[y * w + x] = s;
}

int main() {
  const int w = 100, h = 30;
  std::vector<float> a(w * h), t(w * h), out(w * h);
  for (int i = 0; i < w * h; ++i)
    a[i] = float((i * 17) % 59);
  float k[2 * R + 1], sum = 0;
  for (int i = -R; i <= R; ++i)
    sum += k[i + R] = expf(-i * i / 6.0f);
  for (float &v : k)
    v /= sum;
  cudaMemcpyToSymbol(kern, k, sizeof k);

  float *da, *dt, *dout;
  cudaMalloc(&da, w * h * sizeof(float));
  cudaMalloc(&dt, w * h * sizeof(float));
  cudaMalloc(&dout, w * h * sizeof(float));
  cudaMemcpy(da, a.data(), w * h * sizeof(float), cudaMemcpyHostToDevice);
  dim3 block(TX, TY), grid((w + TX - 1) / TX, (h + TY - 1) / TY);
  rows<<<grid, block>>>(da, dt, w, h);
  cols<<<grid, block>>>(dt, dout, w, h);
  cudaMemcpy(out.data(), dout, w * h * sizeof(float), cudaMemcpyDeviceToHost);

  float worst = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float s = 0;
      for (int i = -R; i <= R; ++i) {
        int xx = x + i < 0 ? 0 : x + i >= w ? w - 1 : x + i;
        s += k[i + R] * a[y * w + xx];
      }
      t[y * w + x] = s;
    }
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float s = 0;
      for (int i = -R; i <= R; ++i)
        s += k[i + R] * t[(y + i < 0 ? 0 : y + i >= h ? h - 1 : y + i) * w + x];
      worst = fmaxf(worst, fabsf(s - out[y * w + x]));
    }
  printf("separable: max diff %g\n", worst);
  cudaFree(da);
  cudaFree(dt);
  cudaFree(dout);
  return worst < 1e-3f ? 0 : 1;
}
