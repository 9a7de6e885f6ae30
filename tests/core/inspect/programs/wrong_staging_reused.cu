// finding: race-host 46 49
// The wait for the upload begins one chunk too late, so the first staging buffer is refilled (chunk 3) while its upload may
// still be under way.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void addUp(const int *x, int n, long long *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? x[i] : 0;
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0)
    atomicAdd((unsigned long long *)sum, (unsigned long long)(long long)v);
}

int main() {
  const int total = 4000, chunk = 500, BUFS = 3;
  int *stage[BUFS], *dev;
  cudaEvent_t sent[BUFS];
  cudaStream_t s;
  long long *sum, got = 0, want = 0;
  CK(cudaStreamCreate(&s));
  for (int k = 0; k < BUFS; k++) {
    CK(cudaMallocHost(&stage[k], chunk * sizeof(int)));
    CK(cudaEventCreateWithFlags(&sent[k], cudaEventDisableTiming));
  }
  CK(cudaMalloc(&dev, chunk * sizeof(int)));
  CK(cudaMalloc(&sum, sizeof *sum));
  CK(cudaMemsetAsync(sum, 0, sizeof *sum, s));
  for (int c = 0; c * chunk < total; c++) {
    int k = c % BUFS;
    if (c > BUFS)
      CK(cudaEventSynchronize(sent[k])); // the first times around the buffers are fresh
    for (int i = 0; i < chunk; i++) {
      stage[k][i] = (c * chunk + i) * 3 % 1009;
      want += stage[k][i];
    }
    CK(cudaMemcpyAsync(dev, stage[k], chunk * sizeof(int), cudaMemcpyHostToDevice, s));
    CK(cudaEventRecord(sent[k], s));
    addUp<<<(chunk + 127) / 128, 128, 0, s>>>(dev, chunk, sum);
  }
  CK(cudaMemcpyAsync(&got, sum, sizeof got, cudaMemcpyDeviceToHost, s));
  CK(cudaStreamSynchronize(s));
  for (int k = 0; k < BUFS; k++) {
    CK(cudaFreeHost(stage[k]));
    CK(cudaEventDestroy(sent[k]));
  }
  CK(cudaFree(dev));
  CK(cudaFree(sum));
  CK(cudaStreamDestroy(s));
  printf("staging_reused: %s\n", got == want ? "ok" : "WRONG");
  return got != want;
}
