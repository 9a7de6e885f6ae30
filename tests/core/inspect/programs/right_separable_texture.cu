// Separable convolution: the row pass reads a texture object, the column pass a shared strip
#include <cstdio>
#include <cstring>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

static const int R = 3;
__constant__ float d_taps[2 * R + 1];

__global__ void rowPass(cudaTextureObject_t tex, float *dst, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  float s = 0.f;
  for (int k = -R; k <= R; ++k)
    s += d_taps[k + R] * tex2D<float>(tex, x + k + 0.5f, y + 0.5f);
  dst[y * w + x] = s;
}

#define COLS 16
#define ROWS 16
__global__ void colPass(const float *src, float *dst, int w, int h) {
  __shared__ float strip[ROWS + 2 * R][COLS + 1];
  int x = blockIdx.x * COLS + threadIdx.x;
  int yBase = blockIdx.y * ROWS;
  for (int r = threadIdx.y; r < ROWS + 2 * R; r += blockDim.y) {
    int y = min(max(yBase + r - R, 0), h - 1);
    strip[r][threadIdx.x] = (x < w) ? src[y * w + x] : 0.f;
  }
  __syncthreads();
  for (int r = threadIdx.y; r < ROWS; r += blockDim.y) {
    int y = yBase + r;
    if (x < w && y < h) {
      float s = 0.f;
      for (int k = 0; k <= 2 * R; ++k)
        s += d_taps[k] * strip[r + k][threadIdx.x];
      dst[y * w + x] = s;
    }
  }
}

int main() {
  const int w = 60, h = 37;
  std::vector<float> img(w * h), tmp(w * h), ref(w * h), out(w * h);
  for (int i = 0; i < w * h; ++i)
    img[i] = float((i * 29) % 101);
  float taps[2 * R + 1] = {1 / 64.f, 6 / 64.f, 15 / 64.f, 20 / 64.f, 15 / 64.f, 6 / 64.f, 1 / 64.f};
  cudaMemcpyToSymbol(d_taps, taps, sizeof taps);

  cudaChannelFormatDesc fmt = cudaCreateChannelDesc<float>();
  cudaArray_t arr;
  cudaMallocArray(&arr, &fmt, w, h);
  cudaMemcpy2DToArray(arr, 0, 0, img.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice);
  cudaResourceDesc res;
  memset(&res, 0, sizeof res);
  res.resType = cudaResourceTypeArray;
  res.res.array.array = arr;
  cudaTextureDesc td;
  memset(&td, 0, sizeof td);
  td.addressMode[0] = td.addressMode[1] = cudaAddressModeClamp;
  td.filterMode = cudaFilterModePoint;
  td.readMode = cudaReadModeElementType;
  cudaTextureObject_t tex = 0;
  cudaCreateTextureObject(&tex, &res, &td, nullptr);

  float *d_mid, *d_out;
  cudaMalloc(&d_mid, w * h * sizeof(float));
  cudaMalloc(&d_out, w * h * sizeof(float));
  rowPass<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(tex, d_mid, w, h);
  colPass<<<dim3((w + COLS - 1) / COLS, (h + ROWS - 1) / ROWS), dim3(COLS, 4)>>>(d_mid, d_out, w, h);
  cudaMemcpy(out.data(), d_out, w * h * sizeof(float), cudaMemcpyDeviceToHost);

  auto cl = [](int v, int n) { return v < 0 ? 0 : v >= n ? n - 1 : v; };
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float s = 0;
      for (int k = -R; k <= R; ++k)
        s += taps[k + R] * img[y * w + cl(x + k, w)];
      tmp[y * w + x] = s;
    }
  float worst = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      float s = 0;
      for (int k = -R; k <= R; ++k)
        s += taps[k + R] * tmp[cl(y + k, h) * w + x];
      worst = std::fmax(worst, std::fabs(s - out[y * w + x]));
    }
  printf("separable convolution: max difference %g\n", worst);
  cudaDestroyTextureObject(tex);
  cudaFreeArray(arr);
  cudaFree(d_mid);
  cudaFree(d_out);
  return worst < 1e-3f ? 0 : 1;
}
