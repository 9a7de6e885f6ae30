// finding: bounds-global 20
// With ceil mode the last window hangs over the image; rows are not clipped, which leaves the buffer in the last channel.
#include <cstdio>
#include <cmath>
#include <vector>

struct Pool2d {
  int channels, h, w, k, stride;
  __host__ __device__ int outSize(int n) const {
    return (n - k + stride - 1) / stride + 1;
  } // ceil mode
};

__device__ float windowMean(const float *plane, const Pool2d &p, int y0, int x0) {
  float s = 0.f;
  int cnt = 0;
  const int xEnd = min(x0 + p.k, p.w);
  for (int y = y0; y < y0 + p.k; ++y)
    for (int x = x0; x < xEnd; ++x) {
      s += plane[y * p.w + x];
      ++cnt;
    }
  return s / cnt;
}

__global__ void avgPool(const float *in, float *out, Pool2d p) {
  const int oh = p.outSize(p.h), ow = p.outSize(p.w);
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  int c = blockIdx.z;
  if (ox < ow && oy < oh)
    out[(c * oh + oy) * ow + ox] = windowMean(in + c * p.h * p.w, p, oy * p.stride, ox * p.stride);
}

int main() {
  Pool2d p = {3, 18, 21, 3, 2};
  const int oh = p.outSize(p.h), ow = p.outSize(p.w);
  std::vector<float> in(p.channels * p.h * p.w), out(p.channels * oh * ow);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = float((i * 23) % 71);
  float *dIn, *dOut;
  cudaMalloc(&dIn, in.size() * sizeof(float));
  cudaMalloc(&dOut, out.size() * sizeof(float));
  cudaMemcpy(dIn, in.data(), in.size() * sizeof(float), cudaMemcpyHostToDevice);
  avgPool<<<dim3((ow + 7) / 8, (oh + 7) / 8, p.channels), dim3(8, 8)>>>(dIn, dOut, p);
  cudaError_t e = cudaDeviceSynchronize();
  if (e != cudaSuccess) {
    printf("avgpool: %s\n", cudaGetErrorString(e));
    return 2;
  }
  cudaMemcpy(out.data(), dOut, out.size() * sizeof(float), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int c = 0; c < p.channels; ++c)
    for (int oy = 0; oy < oh; ++oy)
      for (int ox = 0; ox < ow; ++ox) {
        float s = 0;
        int n = 0;
        for (int y = oy * 2; y < oy * 2 + 3 && y < p.h; ++y)
          for (int x = ox * 2; x < ox * 2 + 3 && x < p.w; ++x, ++n)
            s += in[(c * p.h + y) * p.w + x];
        if (std::fabs(s / n - out[(c * oh + oy) * ow + ox]) > 1e-4f)
          ++wrong;
      }
  printf("avgpool: %d wrong\n", wrong);
  cudaFree(dIn);
  cudaFree(dOut);
  return wrong ? 1 : 0;
}
