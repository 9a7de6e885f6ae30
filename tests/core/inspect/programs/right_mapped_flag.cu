// The host reads results in mapped memory while the kernel has not been waited for; each thread fences with
// __threadfence_system, then the block meets, then one thread sets the volatile flag that the host polls.
#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>

constexpr int N = 512;

__global__ void publish(int *result, volatile int *flag) {
  int i = threadIdx.x;
  int v = i + 1;
  for (int k = 0; k < 50; ++k)
    v = (v * 37 + 11) % 65521;
  result[i] = v;
  __threadfence_system();
  __syncthreads();
  if (i == 0)
    *flag = 1;
}

int main() {
  int *result, *dResult;
  int *flag, *dFlag;
  if (cudaHostAlloc(&result, N * sizeof(int), cudaHostAllocMapped) != cudaSuccess)
    return 2;
  if (cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped) != cudaSuccess)
    return 2;
  cudaHostGetDevicePointer(&dResult, result, 0);
  cudaHostGetDevicePointer(&dFlag, flag, 0);
  for (int i = 0; i < N; ++i)
    result[i] = -1;
  *flag = 0;

  publish<<<1, N>>>(dResult, dFlag);
  if (cudaGetLastError() != cudaSuccess)
    return 2;

  while (*static_cast<volatile int *>(flag) == 0) {
  }
  std::atomic_thread_fence(std::memory_order_acquire);

  int bad = 0;
  for (int i = 0; i < N; ++i) {
    int v = i + 1;
    for (int k = 0; k < 50; ++k)
      v = (v * 37 + 11) % 65521;
    if (result[i] != v)
      ++bad;
  }
  cudaDeviceSynchronize();
  printf("mapped flag: %d wrong\n", bad);
  cudaFreeHost(result);
  cudaFreeHost(flag);
  return bad != 0;
}
