// A diamond of streams, repeated: fill, then two independent halves in two streams, then a join, ordered by events only.
#include <cstdio>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

__global__ void fill(int *x, int n, int r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = i + r;
}
__global__ void square(const int *x, int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = x[i] * x[i];
}
__global__ void reversed(const int *x, int *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = x[n - 1 - i];
}
__global__ void join(int *acc, const int *y, const int *z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    acc[i] += y[i] - z[i];
}

int main() {
  const int n = 1000, rounds = 4, T = 128, G = (n + T - 1) / T;
  int *x, *y, *z, *acc, *host;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&y, n * sizeof(int)));
  CK(cudaMalloc(&z, n * sizeof(int)));
  CK(cudaMalloc(&acc, n * sizeof(int)));
  CK(cudaMallocHost(&host, n * sizeof(int)));
  cudaStream_t s[4];
  for (auto &q : s)
    CK(cudaStreamCreateWithFlags(&q, cudaStreamNonBlocking));
  cudaEvent_t filled, left, right, joined;
  CK(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&left, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&right, cudaEventDisableTiming));
  CK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
  CK(cudaMemsetAsync(acc, 0, n * sizeof(int), s[3]));
  for (int r = 0; r < rounds; r++) {
    // y and z of the round before must have been used; x then is free as well
    if (r)
      CK(cudaStreamWaitEvent(s[0], joined, 0));
    fill<<<G, T, 0, s[0]>>>(x, n, r);
    CK(cudaEventRecord(filled, s[0]));
    CK(cudaStreamWaitEvent(s[1], filled, 0));
    CK(cudaStreamWaitEvent(s[2], filled, 0));
    square<<<G, T, 0, s[1]>>>(x, y, n);
    reversed<<<G, T, 0, s[2]>>>(x, z, n);
    CK(cudaEventRecord(left, s[1]));
    CK(cudaEventRecord(right, s[2]));
    CK(cudaStreamWaitEvent(s[3], left, 0));
    CK(cudaStreamWaitEvent(s[3], right, 0));
    join<<<G, T, 0, s[3]>>>(acc, y, z, n);
    CK(cudaEventRecord(joined, s[3]));
  }
  CK(cudaMemcpyAsync(host, acc, n * sizeof(int), cudaMemcpyDeviceToHost, s[3]));
  CK(cudaStreamSynchronize(s[3]));
  int bad = 0;
  for (int i = 0; i < n; i++) {
    int w = 0;
    for (int r = 0; r < rounds; r++)
      w += (i + r) * (i + r) - (n - 1 - i + r);
    bad += host[i] != w;
  }
  for (auto q : s)
    CK(cudaStreamDestroy(q));
  CK(cudaEventDestroy(filled));
  CK(cudaEventDestroy(left));
  CK(cudaEventDestroy(right));
  CK(cudaEventDestroy(joined));
  CK(cudaFree(x));
  CK(cudaFree(y));
  CK(cudaFree(z));
  CK(cudaFree(acc));
  CK(cudaFreeHost(host));
  printf("event_diamond: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
