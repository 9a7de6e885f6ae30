// finding: race-block 41 16
// Each thread's own pipeline waits for its own copy only, but the stencil reads elements copied by other threads and there is
// no barrier in between.
// Wave equation step with asynchronous copies into shared memory.
#include <cuda/pipeline>
#include <cstdio>
#include <cmath>
#include <vector>

constexpr int BLOCK = 128;

__device__ void stage(float *tile, const float *u, int n, int first, cuda::pipeline<cuda::thread_scope_thread> &pipe) {
  pipe.producer_acquire();
  const int i = first + (int)threadIdx.x;
  if (i < n)
    cuda::memcpy_async(&tile[threadIdx.x + 1], &u[i], sizeof(float), pipe);
  if (threadIdx.x == 0) {
    if (first > 0)
      cuda::memcpy_async(&tile[0], &u[first - 1], sizeof(float), pipe);
    else
      tile[0] = 0.0f;
  }
  if (threadIdx.x == BLOCK - 1 || i == n - 1) {
    if (i + 1 < n)
      cuda::memcpy_async(&tile[threadIdx.x + 2], &u[i + 1], sizeof(float), pipe);
    else
      tile[threadIdx.x + 2] = 0.0f;
  }
  pipe.producer_commit();
}

__global__ void waveStep(const float *prev, const float *cur, float *next, int n, float c2) {
  __shared__ float tile[BLOCK + 2];
  auto pipe = cuda::make_pipeline();
  const int i = blockIdx.x * BLOCK + threadIdx.x;
  stage(tile, cur, n, blockIdx.x * BLOCK, pipe);
  float old = i < n ? prev[i] : 0.0f; // overlaps with the copy
  pipe.consumer_wait();
  if (i < n) {
    float mid = tile[threadIdx.x + 1];
    float lap = tile[threadIdx.x] - 2.0f * mid + tile[threadIdx.x + 2];
    next[i] = 2.0f * mid - old + c2 * lap;
  }
  pipe.consumer_release();
}

int main() {
  const int n = 700, steps = 3;
  const float c2 = 0.3f;
  std::vector<float> a(n), b(n), c(n), out(n);
  for (int i = 0; i < n; i++)
    a[i] = b[i] = std::exp(-0.002f * (i - 300) * (i - 300));
  float *d[3];
  for (auto &p : d)
    cudaMalloc(&p, n * sizeof(float));
  cudaMemcpy(d[0], a.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d[1], b.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  for (int s = 0; s < steps; s++) {
    waveStep<<<(n + BLOCK - 1) / BLOCK, BLOCK>>>(d[s % 3], d[(s + 1) % 3], d[(s + 2) % 3], n, c2);
    for (int i = 0; i < n; i++)
      c[i] = 2.0f * b[i] - a[i] + c2 * ((i ? b[i - 1] : 0.0f) - 2.0f * b[i] + (i + 1 < n ? b[i + 1] : 0.0f));
    a = b;
    b = c;
  }
  cudaMemcpy(out.data(), d[(steps + 1) % 3], n * sizeof(float), cudaMemcpyDeviceToHost);
  float worst = 0;
  for (int i = 0; i < n; i++)
    worst = std::fmax(worst, std::fabs(out[i] - b[i]));
  for (auto p : d)
    cudaFree(p);
  std::printf("wave: max error %g\n", worst);
  return worst < 1e-4f ? 0 : 1;
}
