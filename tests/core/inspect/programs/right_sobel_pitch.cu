// Sobel magnitude on a pitched float image
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

struct Image2D {
  float *ptr;
  size_t pitch; // bytes
  int width, height;
};

__host__ Image2D makeImage(int w, int h) {
  Image2D im;
  im.width = w;
  im.height = h;
  cudaMallocPitch((void **)&im.ptr, &im.pitch, w * sizeof(float), h);
  return im;
}

__device__ inline float *row(const Image2D &im, int y) {
  return (float *)((char *)im.ptr + y * im.pitch);
}

__global__ void sobel(Image2D src, Image2D dst) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= src.width || y >= src.height)
    return;

  float mag = 0.0f;
  if (x > 0 && y > 0 && x < src.width - 1 && y < src.height - 1) {
    const float *a = row(src, y - 1) + x;
    const float *b = row(src, y) + x;
    const float *c = row(src, y + 1) + x;
    float gx = (a[1] + 2 * b[1] + c[1]) - (a[-1] + 2 * b[-1] + c[-1]);
    float gy = (c[-1] + 2 * c[0] + c[1]) - (a[-1] + 2 * a[0] + a[1]);
    mag = fabsf(gx) + fabsf(gy);
  }
  row(dst, y)[x] = mag;
}

int main() {
  const int W = 75, H = 41;
  std::vector<float> img(W * H), out(W * H, -1.0f);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < W; x++)
      img[y * W + x] = float((x * x + 3 * y * x + y * 7) % 64);

  Image2D src = makeImage(W, H), dst = makeImage(W, H);
  cudaMemcpy2D(src.ptr, src.pitch, img.data(), W * sizeof(float), W * sizeof(float), H, cudaMemcpyHostToDevice);

  dim3 block(32, 4);
  dim3 grid((W + block.x - 1) / block.x, (H + block.y - 1) / block.y);
  sobel<<<grid, block>>>(src, dst);

  cudaMemcpy2D(out.data(), W * sizeof(float), dst.ptr, dst.pitch, W * sizeof(float), H, cudaMemcpyDeviceToHost);
  cudaError_t err = cudaGetLastError();
  if (err != cudaSuccess) {
    printf("cuda error %s\n", cudaGetErrorString(err));
    return 2;
  }

  int errors = 0;
  for (int y = 1; y < H - 1; y++)
    for (int x = 1; x < W - 1; x++) {
      auto p = [&](int dx, int dy) { return img[(y + dy) * W + x + dx]; };
      float gx = p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1);
      float gy = p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1);
      if (out[y * W + x] != std::fabs(gx) + std::fabs(gy))
        errors++;
    }
  for (int x = 0; x < W; x++)
    if (out[x] != 0.0f || out[(H - 1) * W + x] != 0.0f)
      errors++;
  printf("sobel: pitch %zu, errors %d\n", src.pitch, errors);
  cudaFree(src.ptr);
  cudaFree(dst.ptr);
  return errors ? 1 : 0;
}
