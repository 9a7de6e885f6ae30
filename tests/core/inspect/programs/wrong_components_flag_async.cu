// finding: race-host 68 66
// The "changed" flag is fetched by cudaMemcpyAsync into pinned memory and tested without waiting for the stream.
// Connected components by label propagation.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define GPU_CHECK(expr)                                                                                                \
  do {                                                                                                                 \
    cudaError_t _e = (expr);                                                                                           \
    if (_e != cudaSuccess) {                                                                                           \
      std::fprintf(stderr, "%s failed at %d: %s\n", #expr, __LINE__, cudaGetErrorString(_e));                          \
      std::abort();                                                                                                    \
    }                                                                                                                  \
  } while (0)

__global__ void labelInit(int *label, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    label[i] = i;
}

__global__ void propagate(const int *a, const int *b, int m, const int *label, int *next, int *changed) {
  int e = blockIdx.x * blockDim.x + threadIdx.x;
  if (e >= m)
    return;
  int la = label[a[e]], lb = label[b[e]];
  if (la < lb) {
    atomicMin(&next[b[e]], la);
    atomicOr(changed, 1);
  }
  if (lb < la) {
    atomicMin(&next[a[e]], lb);
    atomicOr(changed, 1);
  }
}

int main(int argc, char **argv) {
  const int groups = argc > 1 ? std::atoi(argv[1]) : 12, size = 25, n = groups * size, m = groups * (size - 1);
  int *a = new int[m], *b = new int[m], *labels = new int[n];
  for (int g = 0, e = 0; g < groups; g++)
    for (int k = 1; k < size; k++, e++) {
      a[e] = g + groups * k;
      b[e] = g + groups * ((k - 1) / 2);
    }

  int *dA, *dB, *dLabel, *dNext, *dChanged, *hChanged;
  GPU_CHECK(cudaMalloc(&dA, m * sizeof(int)));
  GPU_CHECK(cudaMalloc(&dB, m * sizeof(int)));
  GPU_CHECK(cudaMalloc(&dLabel, n * sizeof(int)));
  GPU_CHECK(cudaMalloc(&dNext, n * sizeof(int)));
  GPU_CHECK(cudaMalloc(&dChanged, sizeof(int)));
  GPU_CHECK(cudaMallocHost(&hChanged, sizeof(int)));
  GPU_CHECK(cudaMemcpy(dA, a, m * sizeof(int), cudaMemcpyHostToDevice));
  GPU_CHECK(cudaMemcpy(dB, b, m * sizeof(int), cudaMemcpyHostToDevice));
  cudaStream_t s;
  GPU_CHECK(cudaStreamCreate(&s));

  labelInit<<<2, 64, 0, s>>>(dLabel, n);
  GPU_CHECK(cudaMemcpyAsync(dNext, dLabel, n * sizeof(int), cudaMemcpyDeviceToDevice, s));
  int rounds = 0;
  *hChanged = 1;
  do {
    GPU_CHECK(cudaMemsetAsync(dChanged, 0, sizeof(int), s));
    propagate<<<(m + 127) / 128, 128, 0, s>>>(dA, dB, m, dLabel, dNext, dChanged);
    GPU_CHECK(cudaMemcpyAsync(dLabel, dNext, n * sizeof(int), cudaMemcpyDeviceToDevice, s));
    GPU_CHECK(cudaMemcpyAsync(hChanged, dChanged, sizeof(int), cudaMemcpyDeviceToHost, s));
    ++rounds;
  } while (*hChanged && rounds < 50);
  GPU_CHECK(cudaStreamSynchronize(s));
  GPU_CHECK(cudaMemcpy(labels, dLabel, n * sizeof(int), cudaMemcpyDeviceToHost));

  int wrong = 0;
  for (int i = 0; i < n; i++)
    wrong += labels[i] != i % groups;
  GPU_CHECK(cudaStreamDestroy(s));
  GPU_CHECK(cudaFreeHost(hChanged));
  for (int *p : {dA, dB, dLabel, dNext, dChanged})
    GPU_CHECK(cudaFree(p));
  delete[] a;
  delete[] b;
  delete[] labels;
  std::printf("%d rounds, %d wrong labels\n", rounds, wrong);
  return 0;
}
