// A memory pool of our own: merge rounds of a tournament, every round with fresh buffers from the pool.
#include <cstdio>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>

#define CK(x)                                                                                                          \
  do {                                                                                                                 \
    cudaError_t e_ = (x);                                                                                              \
    if (e_ != cudaSuccess) {                                                                                           \
      printf("line %d: %s\n", __LINE__, cudaGetErrorString(e_));                                                       \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

// each thread places one element of a run pair by a binary search in the other run
__global__ void mergeRuns(const int *src, int *dst, int n, int run) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int pair = i / (2 * run), begin = pair * 2 * run;
  int mid = min(begin + run, n), end = min(begin + 2 * run, n);
  bool left = i < mid;
  int lo = left ? mid : begin, hi = left ? end : mid, base = lo, v = src[i];
  while (lo < hi) {
    int m = (lo + hi) / 2;
    bool before = left ? src[m] < v : src[m] <= v;
    if (before)
      lo = m + 1;
    else
      hi = m;
  }
  int own = i - (left ? begin : mid);
  dst[begin + own + (lo - base)] = v;
}

int main() {
  const int n = 777;
  std::vector<int> h(n), got(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 7001) % 499;
  cudaMemPoolProps props = {};
  props.allocType = cudaMemAllocationTypePinned;
  props.handleTypes = cudaMemHandleTypeNone;
  props.location.type = cudaMemLocationTypeDevice;
  props.location.id = 0;
  cudaMemPool_t pool;
  CK(cudaMemPoolCreate(&pool, &props));
  unsigned long long keep = 1 << 20;
  CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
  cudaStream_t s;
  CK(cudaStreamCreate(&s));
  int *cur = nullptr;
  CK(cudaMallocFromPoolAsync((void **)&cur, n * sizeof(int), pool, s));
  CK(cudaMemcpyAsync(cur, h.data(), n * sizeof(int), cudaMemcpyHostToDevice, s));
  for (int run = 1; run < n; run *= 2) {
    int *next = nullptr;
    CK(cudaMallocFromPoolAsync((void **)&next, n * sizeof(int), pool, s));
    mergeRuns<<<(n + 127) / 128, 128, 0, s>>>(cur, next, n, run);
    CK(cudaGetLastError());
    CK(cudaFreeAsync(cur, s));
    cur = next;
  }
  CK(cudaMemcpyAsync(got.data(), cur, n * sizeof(int), cudaMemcpyDeviceToHost, s));
  CK(cudaFreeAsync(cur, s));
  CK(cudaStreamSynchronize(s));
  CK(cudaMemPoolTrimTo(pool, 0));
  CK(cudaMemPoolDestroy(pool));
  CK(cudaStreamDestroy(s));
  std::sort(h.begin(), h.end());
  int ok = h == got;
  printf("own_pool: %s\n", ok ? "ok" : "WRONG");
  return !ok;
}
