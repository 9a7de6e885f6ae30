// finding: bounds-global 17
// The pitch in bytes is used as a number of floats, so the lower rows are read from beyond the allocation.
#include <cstdio>
#include <cmath>
#include <vector>

#define CHECK(c)                                                                                                       \
  do {                                                                                                                 \
    cudaError_t e_ = (c);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("%s\n", cudaGetErrorString(e_));                                                                          \
      return 2;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__device__ float px(const float *img, size_t pitch, int x, int y) {
  return img[y * pitch + x];
}

__global__ void sobel(const float *src, size_t srcPitch, float *dst, size_t dstPitch, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h)
    return;
  float r = 0.0f;
  if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
    float gx = px(src, srcPitch, x + 1, y - 1) + 2 * px(src, srcPitch, x + 1, y) + px(src, srcPitch, x + 1, y + 1) -
               px(src, srcPitch, x - 1, y - 1) - 2 * px(src, srcPitch, x - 1, y) - px(src, srcPitch, x - 1, y + 1);
    float gy = px(src, srcPitch, x - 1, y + 1) + 2 * px(src, srcPitch, x, y + 1) + px(src, srcPitch, x + 1, y + 1) -
               px(src, srcPitch, x - 1, y - 1) - 2 * px(src, srcPitch, x, y - 1) - px(src, srcPitch, x + 1, y - 1);
    r = sqrtf(gx * gx + gy * gy);
  }
  float *row = (float *)((char *)dst + y * dstPitch);
  row[x] = r;
}

int main() {
  const int w = 128, h = 32;
  std::vector<float> img(w * h), out(w * h);
  for (int i = 0; i < w * h; ++i)
    img[i] = float((i * i) % 251);
  float *d_src, *d_dst;
  size_t ps, pd;
  CHECK(cudaMallocPitch((void **)&d_src, &ps, w * sizeof(float), h));
  CHECK(cudaMallocPitch((void **)&d_dst, &pd, w * sizeof(float), h));
  CHECK(cudaMemcpy2D(d_src, ps, img.data(), w * sizeof(float), w * sizeof(float), h, cudaMemcpyHostToDevice));
  dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
  sobel<<<grid, block>>>(d_src, ps, d_dst, pd, w, h);
  CHECK(cudaMemcpy2D(out.data(), w * sizeof(float), d_dst, pd, w * sizeof(float), h, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (int y = 1; y < h - 1; ++y)
    for (int x = 1; x < w - 1; ++x) {
      auto p = [&](int dx, int dy) { return img[(y + dy) * w + x + dx]; };
      float gx = p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1);
      float gy = p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1);
      if (std::fabs(std::sqrt(gx * gx + gy * gy) - out[y * w + x]) > 1e-2f)
        ++wrong;
    }
  printf("sobel: %d wrong\n", wrong);
  cudaFree(d_src);
  cudaFree(d_dst);
  return wrong ? 1 : 0;
}
