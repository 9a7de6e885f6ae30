// finding: race-grid 35
// The barrier over the blocks has no __syncthreads before thread 0 announces the block, other threads of it may not have
// written yet.
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

__device__ unsigned arrivals; // only ever counts up

__device__ void allBlocks(unsigned phase) {
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&arrivals, 1u);
    while (*(volatile unsigned *)&arrivals < phase * gridDim.x)
      __nanosleep(40);
    __threadfence();
  }
  __syncthreads();
}

// odd-even style rounds of a recurrence over the whole array, two buffers
__global__ void iterate(int *a, int *b, int n, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int r = 1; r <= rounds; r++) {
    if (i < n)
      b[i] = (a[(i + n - 1) % n] * 3 + a[(i + 65) % n]) & 0xffff;
    allBlocks(r);
    int *t = a;
    a = b;
    b = t;
  }
}

int main() {
  int n = 500, rounds = 5;
  const int G = 4, T = 128;
  std::vector<int> h(n), o(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = i * i;
  int *a, *b;
  CK(cudaMalloc(&a, n * sizeof(int)));
  CK(cudaMalloc(&b, n * sizeof(int)));
  CK(cudaMemcpy(a, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(b, 0, n * sizeof(int)));
  void *args[] = {&a, &b, &n, &rounds};
  CK(cudaLaunchCooperativeKernel((const void *)iterate, dim3(G), dim3(T), args, 0, nullptr));
  CK(cudaMemcpy(got.data(), rounds % 2 ? b : a, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int r = 0; r < rounds; r++) {
    for (int i = 0; i < n; i++)
      o[i] = (h[(i + n - 1) % n] * 3 + h[(i + 65) % n]) & 0xffff;
    h = o;
  }
  int ok = got == h;
  CK(cudaFree(a));
  CK(cudaFree(b));
  printf("soft_barrier: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
