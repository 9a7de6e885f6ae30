// Points in a polygon: crossing number, polygon in constant memory, bitmask output by ballot.
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

#define MAX_VERTS 64
__constant__ float2 poly[MAX_VERTS];

template <typename P> __host__ __device__ bool inside(const P *v, int nv, float px, float py) {
  bool in = false;
  for (int i = 0, j = nv - 1; i < nv; j = i++) {
    float2 a = v[i], b = v[j];
    if ((a.y > py) != (b.y > py) && px < (b.x - a.x) * (py - a.y) / (b.y - a.y) + a.x)
      in = !in;
  }
  return in;
}

__global__ void classify(const float2 *pts, int n, int nv, unsigned *mask, int *count) {
  __shared__ int blockCount;
  if (threadIdx.x == 0)
    blockCount = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool in = i < n && inside(poly, nv, pts[i].x, pts[i].y);
  unsigned b = __ballot_sync(0xffffffffu, in);
  if (threadIdx.x % warpSize == 0) {
    if (i < n)
      mask[i / warpSize] = b;
    atomicAdd(&blockCount, __popc(b));
  }
  __syncthreads();
  if (threadIdx.x == 0 && blockCount)
    atomicAdd(count, blockCount);
}

int main() {
  const int nv = 17, n = 1990, words = (n + 31) / 32;
  std::vector<float2> star(nv), pts(n);
  for (int i = 0; i < nv; i++) {
    float r = i % 2 ? 0.5f : 1.0f, a = 6.2831853f * i / nv;
    star[i] = make_float2(r * cosf(a), r * sinf(a));
  }
  unsigned s = 1;
  auto rnd = [&s] {
    s = s * 1103515245u + 12345u;
    return ((s >> 8) & 0xffff) / 32768.0f - 1.0f;
  };
  for (auto &p : pts) {
    p.x = rnd();
    p.y = rnd();
  }

  float2 *dPts;
  unsigned *dMask;
  int *dCount;
  cudaMalloc(&dPts, n * sizeof(float2));
  cudaMalloc(&dMask, words * sizeof(unsigned));
  cudaMalloc(&dCount, sizeof(int));
  cudaMemcpyToSymbol(poly, star.data(), nv * sizeof(float2));
  cudaMemcpy(dPts, pts.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
  cudaMemset(dCount, 0, sizeof(int));
  classify<<<(n + 191) / 192, 192>>>(dPts, n, nv, dMask, dCount);
  std::vector<unsigned> mask(words);
  int count = 0, diff = 0, bits = 0;
  cudaMemcpy(mask.data(), dMask, words * sizeof(unsigned), cudaMemcpyDeviceToHost);
  cudaMemcpy(&count, dCount, sizeof count, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    bool g = mask[i / 32] >> (i % 32) & 1;
    bits += g;
    diff += g != inside(star.data(), nv, pts[i].x, pts[i].y);
  }
  cudaFree(dPts);
  cudaFree(dMask);
  cudaFree(dCount);
  // a few borderline points may differ by rounding
  printf("%d inside, %d in mask, %d differ from host: %s\n", count, bits, diff,
         count == bits && diff <= 2 ? "ok" : "bad");
  return 0;
}
