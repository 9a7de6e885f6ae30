// All-pairs N-body accelerations with shared-memory tiles, potential energy by cg::reduce, momentum check.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

template <int P> __global__ void forces(const float4 *__restrict__ body, float3 *acc, int n, double *potential) {
  __shared__ float4 tile[P];
  auto block = cg::this_thread_block();
  const int i = blockIdx.x * P + threadIdx.x;
  const float4 me = i < n ? body[i] : make_float4(0, 0, 0, 0);
  float3 a = {0, 0, 0};
  double pot = 0;
  for (int start = 0; start < n; start += P) {
    const int j = start + threadIdx.x;
    tile[threadIdx.x] = j < n ? body[j] : make_float4(0, 0, 0, 0); // massless filler
    block.sync();
#pragma unroll 8
    for (int k = 0; k < P; k++) {
      float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
      float inv = rsqrtf(r2);
      float s = tile[k].w * inv * inv * inv;
      a.x += s * dx;
      a.y += s * dy;
      a.z += s * dz;
      pot -= 0.5 * me.w * tile[k].w * inv;
    }
    block.sync();
  }
  if (i < n)
    acc[i] = a;
  auto warp = cg::tiled_partition<32>(block);
  double sum = cg::reduce(warp, i < n ? pot : 0.0, cg::plus<double>());
  if (warp.thread_rank() == 0)
    atomicAdd(potential, sum);
}

int main() {
  const int n = 700;
  std::vector<float4> h(n);
  std::vector<float3> acc(n);
  unsigned s = 5;
  auto rnd = [&] {
    s = s * 69069u + 1u;
    return (s >> 9) / 8388608.0f - 0.5f;
  };
  for (auto &b : h) {
    b.x = rnd();
    b.y = rnd();
    b.z = rnd();
    b.w = 1.0f + rnd();
  }
  float4 *dB;
  float3 *dA;
  double *dP, pot = 0, want = 0;
  cudaMalloc(&dB, n * sizeof(float4));
  cudaMalloc(&dA, n * sizeof(float3));
  cudaMalloc(&dP, sizeof(double));
  cudaMemcpy(dB, h.data(), n * sizeof(float4), cudaMemcpyHostToDevice);
  cudaMemset(dP, 0, sizeof(double));
  forces<128><<<(n + 127) / 128, 128>>>(dB, dA, n, dP);
  cudaMemcpy(acc.data(), dA, n * sizeof(float3), cudaMemcpyDeviceToHost);
  cudaMemcpy(&pot, dP, sizeof(double), cudaMemcpyDeviceToHost);
  double px = 0, py = 0, scale = 0;
  for (int i = 0; i < n; i++) {
    px += h[i].w * acc[i].x;
    py += h[i].w * acc[i].y;
    scale += std::fabs(h[i].w * acc[i].x);
    for (int j = 0; j < n; j++) {
      double dx = h[i].x - h[j].x, dy = h[i].y - h[j].y, dz = h[i].z - h[j].z;
      want -= 0.5 * h[i].w * h[j].w / std::sqrt(dx * dx + dy * dy + dz * dz + 0.01);
    }
  }
  cudaFree(dB);
  cudaFree(dA);
  cudaFree(dP);
  bool ok = std::fabs(px) + std::fabs(py) < 1e-3 * scale && std::fabs(pot - want) < 1e-4 * std::fabs(want);
  std::printf("potential %.4f (host %.4f), net force %g %g: %s\n", pot, want, px, py, ok ? "ok" : "wrong");
  return 0;
}
