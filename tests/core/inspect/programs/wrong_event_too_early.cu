// finding: race-stream 25 31
// The event is recorded before the second kernel of its stream, so the consumer does not wait for that one.
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

__global__ void fill(int *x, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = k * i;
}

__global__ void smooth(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i > 0 ? i - 1 : 0] + x[i] + x[i < n - 1 ? i + 1 : n - 1];
}

__global__ void total(const int *y, int n, int *sum) {
  int v = 0;
  for (int i = threadIdx.x; i < n; i += 32)
    v += y[i];
  for (int o = 16; o; o >>= 1)
    v += __shfl_xor_sync(~0u, v, o);
  if (threadIdx.x == 0)
    *sum = v;
}

int main() {
  const int n = 900, rounds = 3;
  int *x, *y, *sums, want = 0, got[rounds], bad = 0;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&y, n * sizeof(int)));
  CK(cudaMalloc(&sums, rounds * sizeof(int)));
  CK(cudaMemset(y, 0, n * sizeof(int)));
  CK(cudaDeviceSynchronize());
  cudaStream_t a, b;
  CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t ready, used;
  CK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&used, cudaEventDisableTiming));
  for (int r = 0; r < rounds; r++) {
    if (r)
      CK(cudaStreamWaitEvent(a, used, 0));
    fill<<<8, 128, 0, a>>>(x, n, r + 1);
    CK(cudaEventRecord(ready, a));
    smooth<<<8, 128, 0, a>>>(x, y, n);
    CK(cudaStreamWaitEvent(b, ready, 0));
    total<<<1, 32, 0, b>>>(y, n, sums + r);
    CK(cudaEventRecord(used, b));
  }
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; i++)
    want += (i > 0 ? i - 1 : 0) + i + (i < n - 1 ? i + 1 : n - 1);
  for (int r = 0; r < rounds; r++)
    bad += got[r] != want * (r + 1);
  CK(cudaEventDestroy(ready));
  CK(cudaEventDestroy(used));
  CK(cudaStreamDestroy(a));
  CK(cudaStreamDestroy(b));
  CK(cudaFree(x));
  CK(cudaFree(y));
  CK(cudaFree(sums));
  printf("event_too_early: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
