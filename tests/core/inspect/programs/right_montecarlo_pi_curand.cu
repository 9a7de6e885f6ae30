// Monte Carlo estimate of pi with curand states kept in global memory between two launches.
#include <cstdio>
#include <cmath>
#include <curand_kernel.h>

static const int kBlocks = 8;
static const int kThreads = 96; // three warps

__global__ void setup(curandState *states, unsigned long long seed) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, id, 0, &states[id]);
}

__global__ void sample(curandState *states, int trials, unsigned long long *hits) {
  __shared__ unsigned warpHits[kThreads / 32];
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState local = states[id];
  unsigned inside = 0;
  for (int i = 0; i < trials; ++i) {
    float x = curand_uniform(&local);
    float y = curand_uniform(&local);
    inside += x * x + y * y <= 1.0f;
  }
  states[id] = local;

  inside = __reduce_add_sync(0xffffffffu, inside);
  if (threadIdx.x % 32 == 0)
    warpHits[threadIdx.x / 32] = inside;
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (int w = 0; w < kThreads / 32; ++w)
      sum += warpHits[w];
    atomicAdd(hits, (unsigned long long)sum);
  }
}

class DeviceCounter {
public:
  DeviceCounter() {
    cudaMalloc(&p_, sizeof *p_);
    cudaMemset(p_, 0, sizeof *p_);
  }
  ~DeviceCounter() {
    cudaFree(p_);
  }
  DeviceCounter(const DeviceCounter &) = delete;
  unsigned long long *get() {
    return p_;
  }
  unsigned long long value() const {
    unsigned long long v = 0;
    cudaMemcpy(&v, p_, sizeof v, cudaMemcpyDeviceToHost);
    return v;
  }

private:
  unsigned long long *p_ = nullptr;
};

int main() {
  const int trials = 100;
  const int threads = kBlocks * kThreads;
  curandState *states = nullptr;
  cudaMalloc(&states, threads * sizeof(curandState));
  double pi = 0;
  {
    DeviceCounter hits;
    setup<<<kBlocks, kThreads>>>(states, 1234ULL);
    sample<<<kBlocks, kThreads>>>(states, trials, hits.get());
    sample<<<kBlocks, kThreads>>>(states, trials, hits.get());
    pi = 4.0 * hits.value() / (2.0 * trials * threads);
  }
  cudaFree(states);
  cudaError_t err = cudaGetLastError();
  std::printf("pi ~ %.4f, %s, %s\n", pi, cudaGetErrorString(err), std::fabs(pi - 3.14159) < 0.05 ? "ok" : "off");
  return 0;
}
