// finding: race-stream 31 35
// One of the streams is non-blocking, so the kernel in the default stream does not wait for what it has running.
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

__global__ void moments(const int *x, int n, long long *out, int power) {
  __shared__ long long s;
  if (threadIdx.x == 0)
    s = 0;
  __syncthreads();
  long long v = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    long long p = 1;
    for (int k = 0; k < power; k++)
      p *= x[i];
    v += p;
  }
  atomicAdd((unsigned long long *)&s, (unsigned long long)v);
  __syncthreads();
  if (threadIdx.x == 0)
    *out = s;
}

__global__ void variance(const long long *m, long long *out) {
  long long n = m[0], s = m[1], q = m[2];
  *out = n * q - s * s;
}

int main() {
  const int n = 1500;
  std::vector<int> h(n);
  long long s = 0, q = 0, got = 0;
  for (int i = 0; i < n; i++) {
    h[i] = (i * 61) % 127;
    s += h[i];
    q += h[i] * h[i];
  }
  int *x;
  long long *m;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&m, 4 * sizeof(long long)));
  CK(cudaMemcpy(x, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(m, 0, 4 * sizeof(long long)));
  CK(cudaDeviceSynchronize());
  cudaStream_t st[3];
  int low, high;
  CK(cudaDeviceGetStreamPriorityRange(&low, &high));
  CK(cudaStreamCreate(&st[0]));
  CK(cudaStreamCreateWithFlags(&st[1], cudaStreamDefault));
  CK(cudaStreamCreateWithPriority(&st[2], cudaStreamNonBlocking, high)); // the longest one, at high priority
  for (int p = 2; p >= 0; p--)
    moments<<<1, 96, 0, st[p]>>>(x, n, m + p, p);
  variance<<<1, 1>>>(m, m + 3);
  CK(cudaGetLastError());
  CK(cudaDeviceSynchronize());
  CK(cudaMemcpy(&got, m + 3, sizeof got, cudaMemcpyDeviceToHost));
  for (auto t : st)
    CK(cudaStreamDestroy(t));
  CK(cudaFree(x));
  CK(cudaFree(m));
  int ok = got == n * q - s * s;
  printf("nonblocking_default: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
