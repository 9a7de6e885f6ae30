// finding: race-grid 10 15
// A relaxed flag of cuda::atomic_ref publishes nothing.
#include <cuda/atomic>
#include <cuda_runtime.h>

using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
__global__ void publish(int *flag, int *data) {
  Ref f(*flag);
  if (blockIdx.x == 0) {
    data[0] = 1;
    f.store(1, cuda::memory_order_relaxed);
  } else {
    while (f.load(cuda::memory_order_relaxed) == 0) {
    }
    data[1] = data[0];
  }
}

int main() {
  int *p;
  if (cudaMalloc(&p, 64) != cudaSuccess)
    return 2;
  cudaMemset(p, 0, 64);
  publish<<<2, 1>>>(p, p + 1);
  cudaDeviceSynchronize();
  cudaFree(p);
}
