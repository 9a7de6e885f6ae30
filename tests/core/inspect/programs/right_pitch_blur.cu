// Separable box blur on pitched images; the padding of the rows is never set and never read.
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

template <class T> struct Image {
  T *data;
  size_t pitch;
  int w, h;
  __device__ T *row(int y) const {
    return (T *)((char *)data + y * pitch);
  }
};

__global__ void horizontal(Image<const unsigned char> in, Image<unsigned short> out, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.w || y >= in.h)
    return;
  const unsigned char *p = in.row(y);
  int s = 0;
  for (int k = max(0, x - r); k <= min(in.w - 1, x + r); k++)
    s += p[k];
  out.row(y)[x] = s;
}

__global__ void vertical(Image<const unsigned short> in, Image<int> out, int r) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= in.w || y >= in.h)
    return;
  int s = 0;
  for (int k = max(0, y - r); k <= min(in.h - 1, y + r); k++)
    s += in.row(k)[x];
  out.row(y)[x] = s;
}

int main() {
  const int w = 101, h = 43, r = 3;
  std::vector<unsigned char> src(w * h);
  std::vector<int> got(w * h);
  for (int i = 0; i < w * h; i++)
    src[i] = (i * i + 5 * i) % 256;
  unsigned char *a;
  unsigned short *b;
  int *c;
  size_t pa, pb, pc;
  CK(cudaMallocPitch(&a, &pa, w * sizeof(*a), h));
  CK(cudaMallocPitch(&b, &pb, w * sizeof(*b), h));
  CK(cudaMallocPitch(&c, &pc, w * sizeof(*c), h));
  CK(cudaMemcpy2D(a, pa, src.data(), w, w, h, cudaMemcpyHostToDevice));
  dim3 t(16, 8), g((w + 15) / 16, (h + 7) / 8);
  horizontal<<<g, t>>>(Image<const unsigned char>{a, pa, w, h}, Image<unsigned short>{b, pb, w, h}, r);
  vertical<<<g, t>>>(Image<const unsigned short>{b, pb, w, h}, Image<int>{c, pc, w, h}, r);
  CK(cudaGetLastError());
  CK(cudaMemcpy2D(got.data(), w * sizeof(int), c, pc, w * sizeof(int), h, cudaMemcpyDeviceToHost));
  int bad = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int s = 0;
      for (int j = y - r; j <= y + r; j++)
        for (int i = x - r; i <= x + r; i++)
          if (i >= 0 && i < w && j >= 0 && j < h)
            s += src[j * w + i];
      bad += s != got[y * w + x];
    }
  CK(cudaFree(a));
  CK(cudaFree(b));
  CK(cudaFree(c));
  printf("pitch_blur: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
