// finding: race-host 46 42
// The host waits for the stream before it queues the copy back from the symbol, and then reads the pinned
// destination without waiting for that copy.
#include <cstdio>
#include <cuda_runtime.h>

constexpr int BINS = 32;
__device__ int limits[BINS];
__device__ int counts[BINS];

__global__ void classify(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int key = (i * 29) % 1024;
  int b = 0;
  while (b < BINS - 1 && key >= limits[b])
    ++b;
  atomicAdd(&counts[b], 1);
}

struct Pinned {
  int limits[BINS], zero[BINS], counts[BINS];
};

int main() {
  const int n = 8192;
  Pinned *p;
  cudaMallocHost(&p, sizeof(Pinned));
  for (int b = 0; b < BINS; ++b) {
    p->limits[b] = 32 * (b + 1);
    p->zero[b] = 0;
    p->counts[b] = -1;
  }
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);

  cudaMemcpyToSymbolAsync(limits, p->limits, sizeof(limits), 0, cudaMemcpyHostToDevice, s);
  cudaMemcpyToSymbolAsync(counts, p->zero, sizeof(counts), 0, cudaMemcpyHostToDevice, s);
  classify<<<n / 256, 256, 0, s>>>(n);
  cudaStreamSynchronize(s);
  cudaMemcpyFromSymbolAsync(p->counts, counts, sizeof(counts), 0, cudaMemcpyDeviceToHost, s);

  int bad = 0;
  for (int b = 0; b < BINS; ++b)
    bad += p->counts[b] != n / BINS;
  cudaStreamSynchronize(s);
  printf("classify: %d wrong bins\n", bad);
  cudaStreamDestroy(s);
  cudaFreeHost(p);
  return bad != 0;
}
