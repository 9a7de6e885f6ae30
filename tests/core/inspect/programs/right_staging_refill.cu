// One pinned staging buffer is refilled for every batch of an asynchronous copy; the host waits for the event
// recorded after the copy before it refills.
#include <cstdio>
#include <cuda_runtime.h>

#define CHECK(x)                                                                                                       \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_));                                                \
      return 2;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void triple(int *d, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    d[i] *= 3;
}

int main() {
  const int batch = 4096, batches = 8, n = batch * batches;
  int *stage, *dev, *result;
  CHECK(cudaMallocHost(&stage, batch * sizeof(int)));
  CHECK(cudaMallocHost(&result, n * sizeof(int)));
  CHECK(cudaMalloc(&dev, n * sizeof(int)));
  cudaStream_t s;
  cudaEvent_t copied;
  CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));

  for (int b = 0; b < batches; ++b) {
    for (int i = 0; i < batch; ++i)
      stage[i] = b * 1000 + i;
    CHECK(cudaMemcpyAsync(dev + b * batch, stage, batch * sizeof(int), cudaMemcpyHostToDevice, s));
    CHECK(cudaEventRecord(copied, s));
    triple<<<batch / 256, 256, 0, s>>>(dev + b * batch, batch);
    CHECK(cudaGetLastError());
    CHECK(cudaEventSynchronize(copied));
  }
  CHECK(cudaMemcpyAsync(result, dev, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CHECK(cudaStreamSynchronize(s));

  int bad = 0;
  for (int b = 0; b < batches; ++b)
    for (int i = 0; i < batch; ++i)
      bad += result[b * batch + i] != 3 * (b * 1000 + i);
  printf("staging: %d wrong of %d\n", bad, n);
  CHECK(cudaEventDestroy(copied));
  CHECK(cudaStreamDestroy(s));
  CHECK(cudaFree(dev));
  CHECK(cudaFreeHost(result));
  CHECK(cudaFreeHost(stage));
  return bad != 0;
}
