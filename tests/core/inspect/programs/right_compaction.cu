// Stream compaction by count, scan of the counts, and scatter; the output is filled in part and only that part is used.
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

const int T = 128;

struct IsPrime {
  __device__ bool operator()(int v) const {
    if (v < 2)
      return false;
    for (int d = 2; d * d <= v; d++)
      if (v % d == 0)
        return false;
    return true;
  }
};

template <class P> __global__ void countKept(const int *in, int n, P keep, int *counts) {
  int i = blockIdx.x * T + threadIdx.x;
  int c = __syncthreads_count(i < n && keep(in[i]));
  if (threadIdx.x == 0)
    counts[blockIdx.x] = c;
}

// one warp walks over the counts, 32 at a time
__global__ void scanCounts(int *counts, int n, int *total) {
  int carry = 0, lane = threadIdx.x;
  for (int b = 0; b < n; b += 32) {
    int v = b + lane < n ? counts[b + lane] : 0, incl = v;
    for (int o = 1; o < 32; o *= 2) {
      int u = __shfl_up_sync(~0u, incl, o);
      if (lane >= o)
        incl += u;
    }
    if (b + lane < n)
      counts[b + lane] = carry + incl - v;
    carry += __shfl_sync(~0u, incl, 31);
  }
  if (lane == 0)
    *total = carry;
}

template <class P> __global__ void scatter(const int *in, int n, P keep, const int *base, int *out) {
  __shared__ int perWarp[T / 32];
  int i = blockIdx.x * T + threadIdx.x, w = threadIdx.x / 32, lane = threadIdx.x % 32;
  bool mine = i < n && keep(in[i]);
  unsigned m = __ballot_sync(~0u, mine);
  if (lane == 0)
    perWarp[w] = __popc(m);
  __syncthreads();
  if (!mine)
    return;
  int at = base[blockIdx.x] + __popc(m & ((1u << lane) - 1));
  for (int k = 0; k < w; k++)
    at += perWarp[k];
  out[at] = in[i];
}

__global__ void gaps(const int *x, const int *count, int *longest) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < *count)
    atomicMax(longest, x[i + 1] - x[i]); // the grid is larger than what there is
}

int main() {
  const int n = 5003, G = (n + T - 1) / T;
  std::vector<int> h(n), want;
  for (int i = 0; i < n; i++) {
    h[i] = i * 2 + 1;
    bool p = h[i] > 1;
    for (int d = 2; d * d <= h[i]; d++)
      p = p && h[i] % d;
    if (p)
      want.push_back(h[i]);
  }
  int *in, *out, *counts, *two, res[2];
  CK(cudaMalloc(&in, n * sizeof(int)));
  CK(cudaMalloc(&out, n * sizeof(int)));
  CK(cudaMalloc(&counts, G * sizeof(int)));
  CK(cudaMalloc(&two, 2 * sizeof(int)));
  CK(cudaMemcpy(in, h.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CK(cudaMemset(two + 1, 0, sizeof(int)));
  countKept<<<G, T>>>(in, n, IsPrime(), counts);
  scanCounts<<<1, 32>>>(counts, G, two);
  scatter<<<G, T>>>(in, n, IsPrime(), counts, out);
  gaps<<<G, T>>>(out, two, two + 1);
  CK(cudaGetLastError());
  CK(cudaMemcpy(res, two, sizeof res, cudaMemcpyDeviceToHost));
  std::vector<int> got(res[0]);
  CK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  int gap = 0;
  for (size_t i = 1; i < want.size(); i++)
    gap = want[i] - want[i - 1] > gap ? want[i] - want[i - 1] : gap;
  int ok = got == want && gap == res[1];
  CK(cudaFree(in));
  CK(cudaFree(out));
  CK(cudaFree(counts));
  CK(cudaFree(two));
  printf("compaction: %s (%d)\n", ok ? "ok" : "WRONG", res[0]);
  return !ok;
}
