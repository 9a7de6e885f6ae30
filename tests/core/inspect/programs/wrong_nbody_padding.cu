// finding: uninitialized-global 41
// The body array is padded to a multiple of the tile, but only the n real bodies are copied, the last tile reads the rest.
// N-body accelerations with tiles in shared memory; the padding bodies should have mass zero.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

constexpr int TILE = 64;

struct CudaDeleter {
  void operator()(void *p) const {
    cudaFree(p);
  }
};
template <class T> using DevicePtr = std::unique_ptr<T, CudaDeleter>;
template <class T> DevicePtr<T> deviceArray(size_t n) {
  T *p = nullptr;
  if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess)
    std::abort();
  return DevicePtr<T>(p);
}

__host__ __device__ inline void interact(float4 me, float4 other, float3 &a) {
  float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
  float r2 = dx * dx + dy * dy + dz * dz + 1e-2f;
  float s = other.w / (r2 * sqrtf(r2));
  a.x += s * dx;
  a.y += s * dy;
  a.z += s * dz;
}

__global__ void accelerations(const float4 *body, float3 *acc, int n, int padded) {
  __shared__ float4 tile[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  const float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 a = make_float3(0, 0, 0);
  for (int base = 0; base < padded; base += TILE) {
    tile[threadIdx.x] = body[base + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < TILE; k++)
      interact(me, tile[k], a);
    __syncthreads();
  }
  if (i < n)
    acc[i] = a;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 300;
  const int padded = (n + TILE - 1) / TILE * TILE;
  std::vector<float4> h(n);
  std::vector<float3> acc(n);
  for (int i = 0; i < n; i++)
    h[i] = make_float4(std::sin(i * 1.3f), std::cos(i * 0.9f), 0.01f * (i % 90), 1.0f / n);
  auto body = deviceArray<float4>(padded);
  auto dAcc = deviceArray<float3>(n);
  cudaMemcpy(body.get(), h.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  accelerations<<<padded / TILE, TILE>>>(body.get(), dAcc.get(), n, padded);
  cudaMemcpy(acc.data(), dAcc.get(), n * sizeof(float3), cudaMemcpyDeviceToHost);
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    float3 a = make_float3(0, 0, 0);
    for (int j = 0; j < n; j++)
      interact(h[i], h[j], a);
    float err = std::fabs(a.x - acc[i].x) + std::fabs(a.y - acc[i].y) + std::fabs(a.z - acc[i].z);
    wrong += !(err < 1e-3f);
  }
  std::printf("n-body: %d of %d accelerations wrong\n", wrong, n);
  return 0;
}
