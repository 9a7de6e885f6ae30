// The program faults while it allocates for a launch, as one whose heap is damaged may: within the inspector, and while that holds its
// lock. The program has to end by that fault.
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

static bool damaged;

#define UNSEEN __attribute__((no_sanitize("thread"), no_sanitize_coverage))
extern "C" UNSEEN void *calloc(size_t count, size_t bytes) noexcept {
  if (damaged)
    *(volatile char *volatile)16 = 1;
  void *memory = malloc(count * bytes);
  return memory ? memset(memory, 0, count * bytes) : memory;
}

__global__ void first(int *x) {
  x[threadIdx.x] = 1;
}
__global__ void second(int *x) {
  x[threadIdx.x] = 2;
}

int main() {
  int *x;
  cudaMalloc(&x, 32 * sizeof(int));
  first<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  damaged = true;
  second<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
