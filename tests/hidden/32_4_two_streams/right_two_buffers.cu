// A second array, so that scaling a batch overlaps with adding the one before.
#include <cuda_runtime.h>

enum { THREADS = 256 };

__global__ void scale(float *scaled, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    scaled[i] = 2 * x[i];
}

__global__ void add(float *sum, const float *scaled, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] += scaled[i];
}

extern "C" void sums_on_device(float *sum, float *scaled, const float *x, int batches, int n, cudaStream_t first,
                               cudaStream_t second) {
  const int blocks = (n + THREADS - 1) / THREADS;
  float *spare;
  cudaMallocAsync((void **)&spare, n * sizeof(float), first);
  float *arrays[2] = {scaled, spare};
  cudaEvent_t ready[2], taken[2];
  for (int e = 0; e < 2; e++) {
    cudaEventCreateWithFlags(&ready[e], cudaEventDisableTiming);
    cudaEventCreateWithFlags(&taken[e], cudaEventDisableTiming);
  }
  for (int b = 0; b < batches; b++) {
    int now = b % 2;
    if (b >= 2)
      cudaStreamWaitEvent(first, taken[now], 0);
    scale<<<blocks, THREADS, 0, first>>>(arrays[now], x + (size_t)b * n, n);
    cudaEventRecord(ready[now], first);
    cudaStreamWaitEvent(second, ready[now], 0);
    add<<<blocks, THREADS, 0, second>>>(sum, arrays[now], n);
    cudaEventRecord(taken[now], second);
  }
  cudaFreeAsync(spare, second);
  for (int e = 0; e < 2; e++) {
    cudaEventDestroy(ready[e]);
    cudaEventDestroy(taken[e]);
  }
}
