// finding: bounds-global 28
// The cursor is not set back between the launches, so the later launches write behind the end of the list.
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

__device__ int cursor;

template <class Pred> __device__ void keepIf(int value, Pred p, int *list) {
  bool want = p(value);
  unsigned m = __ballot_sync(~0u, want);
  if (!m)
    return;
  int lane = threadIdx.x % 32, base = 0;
  if (lane == __ffs(m) - 1)
    base = atomicAdd(&cursor, __popc(m));
  base = __shfl_sync(~0u, base, __ffs(m) - 1);
  if (want)
    list[base + __popc(m & ((1u << lane) - 1))] = value;
}

__global__ void select(const int *in, int n, int modulus, int *list) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int v = i < n ? in[i] : -1;
  keepIf(
      v, [=](int x) { return x >= 0 && x % modulus == 0; }, list);
}

int main() {
  const int n = 960;
  std::vector<int> h(n);
  for (int i = 0; i < n; i++)
    h[i] = (i * 19) % 1021;
  int *in, *list, bad = 0, before = 0;
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&list, n * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (int modulus : {3, 2, 5, 7}) { // together they keep more than n
    int count;
    select<<<(n + 95) / 96, 96>>>(in, n, modulus, list);
    CK(cudaGetLastError());
    CK(cudaMemcpyFromSymbol(&count, cursor, sizeof count));
    int want = 0;
    for (int v : h)
      want += v % modulus == 0;
    bad += count - before != want;
    before = count;
  }
  CK(cudaFree(in));
  CK(cudaFree(list));
  printf("cursor_not_reset: %s (%d of %d)\n", bad ? "WRONG" : "ok", before, n);
  return bad != 0;
}
