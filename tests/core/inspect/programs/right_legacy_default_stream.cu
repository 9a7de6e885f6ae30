// No events at all: work in the legacy default stream is ordered with all blocking streams, before and after.
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

__global__ void fillPart(int *x, int n, int first, int r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[first + i] = (first + i) ^ r;
}

__global__ void fold(const int *x, int n, int *sum) // one block reads all parts
{
  __shared__ int s[128];
  int v = 0;
  for (int i = threadIdx.x; i < n; i += 128)
    v += x[i];
  s[threadIdx.x] = v;
  __syncthreads();
  for (int w = 64; w; w >>= 1) {
    if (threadIdx.x < w)
      s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *sum = s[0];
}

__global__ void addBack(int *x, int n, int first, const int *sum, int *acc) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    acc[first + i] += x[first + i] + (*sum & 15);
}

int main() {
  const int parts = 4, per = 150, n = parts * per, rounds = 3;
  int *x, *acc, *sum;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMalloc(&acc, n * sizeof(int)));
  CK(cudaMalloc(&sum, sizeof(int)));
  cudaStream_t s[parts];
  for (auto &q : s)
    CK(cudaStreamCreate(&q));
  CK(cudaMemset(acc, 0, n * sizeof(int))); // default stream: before everything below
  for (int r = 0; r < rounds; r++) {
    for (int p = 0; p < parts; p++)
      fillPart<<<2, 75, 0, s[p]>>>(x, per, p * per, r);
    fold<<<1, 128>>>(x, n, sum); // after all four
    for (int p = 0; p < parts; p++) {
      // the parts go round: another stream than the one that filled it
      int q = (p + 1) % parts;
      addBack<<<2, 75, 0, s[p]>>>(x, per, q * per, sum, acc);
    }
    CK(cudaMemsetAsync(sum, 0, sizeof(int), 0)); // again between the additions and the next fill
  }
  std::vector<int> got(n), want(n, 0);
  CK(cudaMemcpy(got.data(), acc, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rounds; r++) {
    int t = 0;
    for (int i = 0; i < n; i++)
      t += i ^ r;
    for (int i = 0; i < n; i++)
      want[i] += (i ^ r) + (t & 15);
  }
  int ok = got == want;
  for (auto q : s)
    CK(cudaStreamDestroy(q));
  CK(cudaFree(x));
  CK(cudaFree(acc));
  CK(cudaFree(sum));
  printf("legacy_default_stream: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
