// Two-stage cuda::pipeline: each block streams its row of a field through shared memory and smooths it.
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cstdio>
#include <cmath>
#include <vector>
namespace cg = cooperative_groups;
#pragma nv_diag_suppress static_var_with_dynamic_init

constexpr int TILE = 128;
constexpr int STAGES = 2;

__global__ void smoothRows(const float *__restrict__ in, float *__restrict__ out, int tilesPerRow) {
  __shared__ alignas(16) float buf[STAGES][TILE];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  const size_t row = (size_t)blockIdx.x * tilesPerRow * TILE;

  int fetch = 0;
  for (int compute = 0; compute < tilesPerRow; ++compute) {
    for (; fetch < tilesPerRow && fetch < compute + STAGES; ++fetch) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, buf[fetch % STAGES], in + row + fetch * TILE,
                         cuda::aligned_size_t<16>(TILE * sizeof(float)), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    const float *t = buf[compute % STAGES];
    const int i = threadIdx.x;
    // neighbors are clamped to the tile
    out[row + compute * TILE + i] = 0.25f * t[max(i - 1, 0)] + 0.5f * t[i] + 0.25f * t[min(i + 1, TILE - 1)];
    pipe.consumer_release();
  }
}

int main() {
  const int rows = 4, tiles = 6, n = rows * tiles * TILE;
  std::vector<float> h(n), r(n);
  for (int i = 0; i < n; i++)
    h[i] = std::sin(0.1f * i) + (i % 5);
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  cudaMemcpy(in, h.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  smoothRows<<<rows, TILE>>>(in, out, tiles);
  cudaError_t e = cudaDeviceSynchronize();
  cudaMemcpy(r.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost);
  float worst = 0;
  for (int c = 0; c < rows * tiles; c++)
    for (int i = 0; i < TILE; i++) {
      const float *t = &h[c * TILE];
      float v = 0.25f * t[i ? i - 1 : 0] + 0.5f * t[i] + 0.25f * t[i + 1 < TILE ? i + 1 : i];
      worst = std::fmax(worst, std::fabs(v - r[c * TILE + i]));
    }
  cudaFree(in);
  cudaFree(out);
  std::printf("pipeline smoothing: %s, max error %g\n", cudaGetErrorString(e), worst);
  return worst < 1e-5f ? 0 : 1;
}
