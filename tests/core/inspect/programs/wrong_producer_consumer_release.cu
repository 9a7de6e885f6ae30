// finding: race-block 41 30
// The consumers release the slot before they read it, the producer warp may overwrite it in the meantime.
// Producer warp loads rays into a two-slot ring, the consumer warps intersect them with a sphere (cuda::barrier phases).
#include <cstdio>
#include <cmath>
#include <vector>
#include <cuda/barrier>

#pragma nv_diag_suppress static_var_with_dynamic_init

using barrier_t = cuda::barrier<cuda::thread_scope_block>;

struct Ray {
  float oy, oz; // origin (-10, oy, oz), direction +x
};

constexpr int CONSUMERS = 64, PRODUCERS = 32;

class Channel {
  Ray (*slot)[CONSUMERS];
  barrier_t *empty, *full;

public:
  __device__ Channel(Ray (*s)[CONSUMERS], barrier_t *e, barrier_t *f) : slot(s), empty(e), full(f) {
  }
  __device__ void put(int batch, const Ray *src) {
    const int k = batch % 2;
    empty[k].arrive_and_wait();
    for (int i = threadIdx.x; i < CONSUMERS; i += PRODUCERS)
      slot[k][i] = src[i];
    (void)full[k].arrive();
  }
  __device__ void start() {
    (void)empty[0].arrive();
    (void)empty[1].arrive();
  }
  __device__ Ray get(int batch, int lane) {
    const int k = batch % 2;
    full[k].arrive_and_wait();
    (void)empty[k].arrive();
    return slot[k][lane];
  }
};

__host__ __device__ float hit(Ray r) {
  float d = 4.0f - r.oy * r.oy - r.oz * r.oz;
  return d < 0 ? -1.0f : 10.0f - sqrtf(d);
}

__global__ void castRays(const Ray *rays, float *t, int batches) {
  __shared__ Ray ring[2][CONSUMERS];
  __shared__ barrier_t empty[2], full[2];
  if (threadIdx.x < 2) {
    init(&empty[threadIdx.x], blockDim.x);
    init(&full[threadIdx.x], blockDim.x);
  }
  __syncthreads();
  Channel ch(ring, empty, full);
  if (threadIdx.x < PRODUCERS) {
    for (int b = 0; b < batches; ++b)
      ch.put(b, rays + b * CONSUMERS);
  } else {
    const int lane = threadIdx.x - PRODUCERS;
    ch.start();
    for (int b = 0; b < batches; ++b)
      t[b * CONSUMERS + lane] = hit(ch.get(b, lane));
  }
}

int main() {
  const int batches = 10, n = batches * CONSUMERS;
  std::vector<Ray> rays(n);
  std::vector<float> t(n);
  for (int i = 0; i < n; i++)
    rays[i] = {0.01f * (i % 400) - 2.0f, 0.013f * (i % 300) - 2.0f};
  Ray *dRays;
  float *dT;
  cudaMalloc(&dRays, n * sizeof(Ray));
  cudaMalloc(&dT, n * sizeof(float));
  cudaMemcpy(dRays, rays.data(), n * sizeof(Ray), cudaMemcpyHostToDevice);
  castRays<<<1, PRODUCERS + CONSUMERS>>>(dRays, dT, batches);
  cudaMemcpy(t.data(), dT, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(dRays);
  cudaFree(dT);
  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += std::fabs(t[i] - hit(rays[i])) > 1e-4f;
  std::printf("%d rays wrong of %d\n", wrong, n);
  return 0;
}
