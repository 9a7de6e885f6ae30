// The host reads the partial sums before any synchronize call; it polls a counter that every block raises with
// atomicAdd_system after a system fence, until all blocks have reported.
#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>

constexpr int BLOCKS = 20, THREADS = 128, N = BLOCKS * THREADS;

__global__ void partial(const int *in, int *sums, int *done) {
  __shared__ int s[THREADS];
  s[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
  __syncthreads();
  for (int w = THREADS / 2; w > 0; w /= 2) {
    if (threadIdx.x < w)
      s[threadIdx.x] += s[threadIdx.x + w];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = s[0];
    __threadfence_system();
    atomicAdd_system(done, 1);
  }
}

int main() {
  int *in, *sums, *done;
  cudaMallocManaged(&in, N * sizeof(int));
  cudaMallocManaged(&sums, BLOCKS * sizeof(int));
  cudaMallocManaged(&done, sizeof(int));
  for (int i = 0; i < N; ++i)
    in[i] = i % 77;
  for (int b = 0; b < BLOCKS; ++b)
    sums[b] = 0;
  *done = 0;

  partial<<<BLOCKS, THREADS>>>(in, sums, done);
  while (*static_cast<volatile int *>(done) < BLOCKS) {
  }
  std::atomic_thread_fence(std::memory_order_acquire);

  long long total = 0;
  for (int b = 0; b < BLOCKS; ++b)
    total += sums[b];
  cudaDeviceSynchronize();

  long long want = 0;
  for (int i = 0; i < N; ++i)
    want += i % 77;
  printf("progress: total %lld, expected %lld, blocks %d\n", total, want, *done);
  bool ok = total == want && *done == BLOCKS;
  cudaFree(in);
  cudaFree(sums);
  cudaFree(done);
  return ok ? 0 : 1;
}
