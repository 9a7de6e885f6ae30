// The host reads a while the second kernel may still run; it waits for the event after the first kernel, and the
// second kernel only reads a and writes b.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void square(int *a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    a[i] = a[i] * a[i];
}

__global__ void offset(const int *a, int *b, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    b[i] = a[i] + 7;
}

int main() {
  const int n = 10000;
  int *a, *b;
  cudaMallocManaged(&a, n * sizeof(int));
  cudaMallocManaged(&b, n * sizeof(int));
  for (int i = 0; i < n; ++i) {
    a[i] = i % 50;
    b[i] = 0;
  }
  cudaStream_t s;
  cudaEvent_t squared;
  cudaStreamCreate(&s);
  cudaEventCreateWithFlags(&squared, cudaEventDisableTiming);

  square<<<16, 256, 0, s>>>(a, n);
  cudaEventRecord(squared, s);
  offset<<<16, 256, 0, s>>>(a, b, n);

  long long sumA = 0, sumB = 0;
  cudaEventSynchronize(squared);
  for (int i = 0; i < n; ++i)
    sumA += a[i];
  cudaStreamSynchronize(s);
  for (int i = 0; i < n; ++i)
    sumB += b[i];

  printf("sums %lld %lld\n", sumA, sumB);
  bool ok = sumA == 200LL * 40425 && sumB == sumA + 7LL * n;
  cudaEventDestroy(squared);
  cudaStreamDestroy(s);
  cudaFree(a);
  cudaFree(b);
  return ok ? 0 : 1;
}
