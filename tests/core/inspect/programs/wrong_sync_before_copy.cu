// finding: race-host 82 52
// The event the host waits for was recorded before the copy back was issued, the copy may still be running.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void collatz(const int *in, int *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int k = 0;
  for (unsigned v = in[i]; v != 1; k++)
    v = v & 1 ? 3 * v + 1 : v / 2;
  steps[i] = k;
}

class Worker {
  int *in, *out, *pinned, n;
  cudaStream_t stream;
  cudaEvent_t finished;

public:
  cudaError_t open(int count) {
    n = count;
    cudaError_t e = cudaMalloc(&in, n * sizeof(int));
    if (!e)
      e = cudaMalloc(&out, n * sizeof(int));
    if (!e)
      e = cudaMallocHost(&pinned, n * sizeof(int));
    if (!e)
      e = cudaStreamCreate(&stream);
    if (!e)
      e = cudaEventCreateWithFlags(&finished, cudaEventDisableTiming | cudaEventBlockingSync);
    return e;
  }
  cudaError_t submit(const std::vector<int> &values) {
    cudaError_t e = cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    if (e)
      return e;
    collatz<<<(n + 127) / 128, 128, 0, stream>>>(in, out, n);
    e = cudaEventRecord(finished, stream);
    if (!e)
      e = cudaMemcpyAsync(pinned, out, n * sizeof(int), cudaMemcpyDeviceToHost, stream);
    return e;
  }
  const int *wait() {
    return cudaEventSynchronize(finished) == cudaSuccess ? pinned : nullptr;
  }
  void close() {
    cudaStreamSynchronize(stream);
    cudaFree(in);
    cudaFree(out);
    cudaFreeHost(pinned);
    cudaEventDestroy(finished);
    cudaStreamDestroy(stream);
  }
};

int main() {
  const int n = 800;
  Worker w;
  CK(w.open(n));
  std::vector<int> v(n);
  for (int i = 0; i < n; i++)
    v[i] = 1 + (i * 31) % 5000;
  CK(w.submit(v));
  const int *r = w.wait();
  int bad = r == nullptr;
  for (int i = 0; r && i < n; i++) {
    int k = 0;
    for (unsigned x = v[i]; x != 1; k++)
      x = x & 1 ? 3 * x + 1 : x / 2;
    bad += r[i] != k;
  }
  w.close();
  printf("sync_before_copy: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
