// finding: leak 38
// The scratch buffer of a round that finds nothing to do is never given back to the pool.
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

__global__ void mark(const int *x, int n, int bit, int *flags, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int f = i < n && (x[i] >> bit & 1);
  if (i < n)
    flags[i] = f;
  int c = __syncthreads_count(f);
  if (threadIdx.x == 0)
    atomicAdd(count, c);
}

__global__ void clearBit(int *x, int n, int bit, const int *flags) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && flags[i])
    x[i] ^= 1 << bit;
}

// returns how many values had the bit set, and clears it in them
static cudaError_t round(int *x, int n, int bit, int *pinnedCount, cudaMemPool_t pool, cudaStream_t s) {
  int *flags, *count;
  cudaError_t e = cudaMallocFromPoolAsync((void **)&count, sizeof(int), pool, s);
  if (e)
    return e;
  e = cudaMallocFromPoolAsync((void **)&flags, n * sizeof(int), pool, s);
  if (e)
    return e;
  cudaMemsetAsync(count, 0, sizeof(int), s);
  mark<<<(n + 63) / 64, 64, 0, s>>>(x, n, bit, flags, count);
  cudaMemcpyAsync(pinnedCount, count, sizeof(int), cudaMemcpyDeviceToHost, s);
  cudaFreeAsync(count, s);
  e = cudaStreamSynchronize(s);
  if (e || *pinnedCount == 0)
    return e;
  clearBit<<<(n + 63) / 64, 64, 0, s>>>(x, n, bit, flags);
  return cudaFreeAsync(flags, s);
}

int main() {
  const int n = 300;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 37 % 512) & ~(1 << 5); // bit 5 is never set
  cudaMemPool_t pool;
  CK(cudaDeviceGetDefaultMemPool(&pool, 0));
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  int *x, *c, bad = 0;
  CK(cudaMalloc(&x, n * sizeof(int)));
  CK(cudaMallocHost(&c, sizeof(int)));
  CK(cudaMemcpy(x, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (int bit = 0; bit < 9; bit++) {
    CK(round(x, n, bit, c, pool, s));
    int want = 0;
    for (int v : h)
      want += v >> bit & 1;
    bad += *c != want;
  }
  CK(cudaStreamSynchronize(s));
  CK(cudaMemcpy(h.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int v : h)
    bad += v != 0;
  CK(cudaFree(x));
  CK(cudaFreeHost(c));
  CK(cudaStreamDestroy(s));
  printf("pool_leak: %s\n", bad ? "WRONG" : "ok");
  return bad != 0;
}
