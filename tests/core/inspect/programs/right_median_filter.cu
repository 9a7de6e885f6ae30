// Median filter with a window in a local array, template on the radius
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

using pixel = unsigned short;

template <int RAD> struct Window {
  static constexpr int SIDE = 2 * RAD + 1;
  static constexpr int N = SIDE * SIDE;
  pixel v[N];
  int count;

  __device__ Window() : count(0) {
  } // v stays as it is, insert() fills it
  __device__ void insert(pixel p) {
    int j = count++;
    while (j > 0 && v[j - 1] > p) {
      v[j] = v[j - 1];
      --j;
    }
    v[j] = p;
  }
  __device__ pixel median() const {
    return v[count / 2];
  }
};

// at the borders the window is simply smaller
template <int RAD> __global__ void medianKernel(const pixel *__restrict__ src, pixel *__restrict__ dst, int w, int h) {
  int x = threadIdx.x + blockIdx.x * blockDim.x;
  int y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x < w && y < h) {
    Window<RAD> win;
    for (int dy = -RAD; dy <= RAD; ++dy) {
      int yy = y + dy;
      if (yy < 0 || yy >= h)
        continue;
      for (int dx = -RAD; dx <= RAD; ++dx) {
        int xx = x + dx;
        if (xx < 0 || xx >= w)
          continue;
        win.insert(src[yy * w + xx]);
      }
    }
    dst[y * w + x] = win.median();
  }
}

template <int RAD> int runAndCheck(const std::vector<pixel> &img, const pixel *d_src, pixel *d_dst, int w, int h) {
  dim3 block(16, 8);
  dim3 grid((w + 15) / 16, (h + 7) / 8);
  medianKernel<RAD><<<grid, block>>>(d_src, d_dst, w, h);
  std::vector<pixel> out(w * h);
  cudaMemcpy(out.data(), d_dst, out.size() * sizeof(pixel), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      std::vector<pixel> a;
      for (int yy = std::max(0, y - RAD); yy <= std::min(h - 1, y + RAD); ++yy)
        for (int xx = std::max(0, x - RAD); xx <= std::min(w - 1, x + RAD); ++xx)
          a.push_back(img[yy * w + xx]);
      std::sort(a.begin(), a.end());
      if (a[a.size() / 2] != out[y * w + x])
        ++wrong;
    }
  return wrong;
}

int main() {
  const int w = 40, h = 27;
  std::vector<pixel> img(w * h);
  srand(5);
  for (auto &p : img)
    p = rand() % 1000;
  pixel *d_src, *d_dst;
  cudaMalloc((void **)&d_src, img.size() * sizeof(pixel));
  cudaMalloc((void **)&d_dst, img.size() * sizeof(pixel));
  cudaMemcpy(d_src, img.data(), img.size() * sizeof(pixel), cudaMemcpyHostToDevice);
  int e1 = runAndCheck<1>(img, d_src, d_dst, w, h);
  int e2 = runAndCheck<2>(img, d_src, d_dst, w, h);
  printf("median 3x3: %d wrong, 5x5: %d wrong\n", e1, e2);
  cudaFree(d_src);
  cudaFree(d_dst);
  return e1 + e2 == 0 ? 0 : 1;
}
