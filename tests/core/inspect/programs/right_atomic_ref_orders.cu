// Locks, flags and fences of cuda::atomic_ref with the memory orders that they need.
#include <cuda/atomic>
#include <cuda_runtime.h>

using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;

__global__ void swap_lock(int *lock_word, int *data) {
  Ref lock(*lock_word);
  for (int expected = 0; !lock.compare_exchange_weak(expected, 1, cuda::memory_order_acquire); expected = 0) {
  }
  *data += 1;
  lock.store(0, cuda::memory_order_release);
}

__global__ void exchange_lock(int *lock_word, int *data) {
  Ref lock(*lock_word);
  while (lock.exchange(1, cuda::memory_order_acquire)) {
  }
  *data += 1;
  lock.store(0, cuda::memory_order_release);
}

__global__ void ordered(int *flag, int *data) {
  Ref f(*flag);
  if (blockIdx.x == 0) {
    data[0] = 1;
    f.store(1, cuda::memory_order_release);
  } else {
    while (f.load(cuda::memory_order_acquire) == 0) {
    }
    data[1] = data[0];
  }
}

__global__ void fenced(int *flag, int *data) {
  Ref f(*flag);
  if (blockIdx.x == 0) {
    data[0] = 1;
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
    f.store(1, cuda::memory_order_relaxed);
  } else {
    while (f.fetch_add(0, cuda::memory_order_relaxed) == 0) {
    }
    cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
    data[1] = data[0];
  }
}

int main() {
  int *p;
  if (cudaMalloc(&p, 64) != cudaSuccess)
    return 2;
  void (*const kernels[])(int *, int *) = {swap_lock, exchange_lock, ordered, fenced};
  for (auto kernel : kernels) {
    cudaMemset(p, 0, 64);
    kernel<<<2, 1>>>(p, p + 1);
    cudaDeviceSynchronize();
  }
  cudaFree(p);
}
