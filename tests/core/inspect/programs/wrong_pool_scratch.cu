// finding: race-stream 16 42
// The scratch is freed in stream a without waiting for the
// kernel in stream b that still reads it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(int *scratch, int n, int round) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    scratch[i] = i * (round + 1);
}

__global__ void sumUp(const int *scratch, unsigned long long *result, int n) {
  unsigned long long s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s += scratch[i];
  atomicAdd(result, s);
}

int main() {
  const int n = 8192, rounds = 4;
  unsigned long long *result;
  cudaMallocManaged(&result, rounds * sizeof(*result));
  for (int r = 0; r < rounds; ++r)
    result[r] = 0;
  cudaStream_t a, b;
  cudaEvent_t filled, used;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&filled, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&used, cudaEventDisableTiming);

  for (int r = 0; r < rounds; ++r) {
    int *scratch = nullptr;
    if (cudaMallocAsync(&scratch, n * sizeof(int), a) != cudaSuccess)
      return 2;
    fill<<<n / 256, 256, 0, a>>>(scratch, n, r);
    cudaEventRecord(filled, a);
    cudaStreamWaitEvent(b, filled, 0);
    sumUp<<<1, 256, 0, b>>>(scratch, result + r, n);
    cudaEventRecord(used, b);
    cudaFreeAsync(scratch, a);
  }
  cudaEventSynchronize(used);

  int bad = 0;
  for (int r = 0; r < rounds; ++r) {
    unsigned long long want = (unsigned long long)n * (n - 1) / 2 * (r + 1);
    bad += result[r] != want;
  }
  cudaStreamSynchronize(a);
  printf("scratch: %d wrong sums\n", bad);
  cudaEventDestroy(filled);
  cudaEventDestroy(used);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
  cudaFree(result);
  return bad != 0;
}
